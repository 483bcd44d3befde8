package modeltest

import (
	"fmt"
	"net/http"
)

type wireModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Window  int    `json:"max_model_len,omitempty"`
}

func (o options) model(id string) wireModel {
	m := wireModel{ID: id, Object: "model", Created: created, OwnedBy: "modeltest"}
	if o.kind != "" {
		m.OwnedBy = string(o.kind)
	}
	switch o.kind {
	case VLLM:
		m.Window = o.window
	case Ollama:
		m.ID += ":latest"
	case LlamaCPP:
	}
	return m
}

// context answers the pages that some kinds of servers have of their models' context.
func (h *Handler) context(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case h.options.kind == LlamaCPP && r.URL.Path == "/props":
		write(w, http.StatusOK, "application/json", fmt.Appendf(nil, `{"default_generation_settings":{"n_ctx":%d}}`, h.options.window), "")
	case h.options.kind == Ollama && r.URL.Path == "/api/ps":
		body := `{"models":[]}`
		if requests := h.Requests(); len(requests) > 0 {
			body = fmt.Sprintf(`{"models":[{"name":%q,"context_length":%d}]}`, requests[0].Model+":latest", h.options.window)
		}
		write(w, http.StatusOK, "application/json", []byte(body), "")
	default:
		return false
	}
	return true
}

func (h *Handler) listModels(w http.ResponseWriter, r *http.Request) {
	if fail := h.authorize(r); fail != nil {
		refuse(w, fail)
		return
	}
	list := struct {
		Object string      `json:"object"`
		Data   []wireModel `json:"data"`
	}{Object: "list", Data: []wireModel{}}
	for _, id := range h.options.models {
		list.Data = append(list.Data, h.options.model(id))
	}
	write(w, http.StatusOK, "application/json", encode(list), "")
}

func (h *Handler) getModel(w http.ResponseWriter, r *http.Request, id string) {
	fail := h.authorize(r)
	if fail == nil && !h.options.knows(id) {
		fail = modelNotFound(id)
	}
	if fail != nil {
		refuse(w, fail)
		return
	}
	write(w, http.StatusOK, "application/json", encode(h.options.model(id)), "")
}
