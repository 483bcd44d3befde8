package modeltest

import "net/http"

type wireModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModel(id string) wireModel {
	return wireModel{ID: id, Object: "model", Created: created, OwnedBy: "modeltest"}
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
		list.Data = append(list.Data, newModel(id))
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
	write(w, http.StatusOK, "application/json", encode(newModel(id)), "")
}
