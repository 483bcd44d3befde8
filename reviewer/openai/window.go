package openai

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"review-bot/prompts"
)

// windowPatience bounds the questions about a model's context.
const windowPatience = 10 * time.Second

// window is how many tokens a request and its answer may have together, 0 if the
// server doesn't say. It is asked once for each model, and again where the server knew
// nothing: Ollama loads a model only when it is asked something. A request that nobody
// has counted can't be held against it.
func (c *Client) window(ctx context.Context, m *model, req prompts.Request) int {
	if req.Tokens == 0 {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.window != 0 || m.mute {
		return m.window
	}
	limited, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	m.window, m.mute = c.askWindow(limited, m.name)
	return m.window
}

// askWindow asks the server for a model's context, each kind in its way: vLLM, OpenRouter
// and Groq have it in the list of models, llama.cpp's server and Ollama have a page of
// their own. mute says that there is no use in asking again.
func (c *Client) askWindow(ctx context.Context, name string) (window int, mute bool) {
	var list struct {
		Data []struct {
			ID            string  `json:"id"`
			OwnedBy       string  `json:"owned_by"`
			MaxModelLen   float64 `json:"max_model_len"`
			ContextLength float64 `json:"context_length"`
			ContextWindow float64 `json:"context_window"`
		} `json:"data"`
	}
	if !c.get(ctx, c.address("/models"), &list) {
		return 0, ctx.Err() == nil
	}
	for _, m := range list.Data {
		if !sameModel(m.ID, name) {
			continue
		}
		if n := first(m.MaxModelLen, m.ContextLength, m.ContextWindow); n > 0 {
			return n, false
		}
		switch m.OwnedBy {
		case "llamacpp":
			var props struct {
				Settings struct {
					Window float64 `json:"n_ctx"`
				} `json:"default_generation_settings"`
			}
			c.get(ctx, c.root()+"/props", &props)
			return first(props.Settings.Window), true
		case "library": // Ollama's word for every model
			var loaded struct {
				Models []struct {
					Name   string  `json:"name"`
					Window float64 `json:"context_length"`
				} `json:"models"`
			}
			c.get(ctx, c.root()+"/api/ps", &loaded)
			for _, l := range loaded.Models {
				if sameModel(l.Name, name) {
					return first(l.Window), false
				}
			}
			return 0, false
		}
	}
	return 0, true
}

// sameModel reports whether a server means the model that is asked for: Ollama adds the
// tag that it takes when none is given.
func sameModel(listed, name string) bool { return listed == name || listed == name+":latest" }

// first is the first of these that is a number of tokens.
func first(list ...float64) int {
	for _, n := range list {
		if n >= 1 && n < math.MaxInt32 {
			return int(n)
		}
	}
	return 0
}

// address is that of an endpoint below the base URL.
func (c *Client) address(path string) string {
	u, err := url.Parse(c.cfg.BaseURL)
	if err != nil {
		return ""
	}
	u.Path = strings.TrimRight(u.Path, "/") + path
	return u.String()
}

// root is the server's address without the version that the base URL ends in.
func (c *Client) root() string { return strings.TrimSuffix(c.address(""), "/v1") }

// get reads a JSON document. What can't be had isn't known, and no error.
func (c *Client) get(ctx context.Context, address string, into any) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && json.Unmarshal(unmarked(body), into) == nil
}
