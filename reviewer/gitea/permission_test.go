package gitea

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"review-bot/reviewer"
)

func TestWriteAccessIsGrantedOnlyWhereItIsKnown(t *testing.T) {
	type answers map[string]any // by the path's end; an int is a status
	anna := []object{{"login": "Anna"}}
	for promise, tt := range map[string]struct {
		says answers
		want bool
	}{
		"an administrator is told: write": {answers{"/permission": object{"permission": "write"}}, true},
		"an administrator is told: admin": {answers{"/permission": object{"permission": "admin"}}, true},
		"an administrator is told: owner": {answers{"/permission": object{"permission": "owner"}}, true},
		"an administrator is told: read": {
			answers{"/permission": object{"permission": "read"}, "/assignees": anna, "/teams": 405}, false,
		},
		"an administrator is told nothing": {
			answers{"/permission": object{}, "/assignees": anna, "/teams": 405}, false,
		},
		"no such user": {
			answers{"/permission": 404, "/assignees": []object{}, "/teams": 405}, false,
		},
		"not to be assigned": {
			answers{"/permission": 403, "/assignees": []object{{"login": "ann"}}, "/teams": 405}, false,
		},
		"to be assigned, in a repository of a user": {
			answers{"/permission": 403, "/assignees": anna, "/teams": 405}, true,
		},
		"to be assigned, no team only reads": {
			answers{"/permission": 403, "/assignees": anna,
				"/teams": []object{{"permission": "write"}, {"permission": "owner"}}}, true,
		},
		"to be assigned, and perhaps in a reading team": {
			answers{"/permission": 403, "/assignees": anna, "/teams": []object{{"permission": "write"}, {"permission": "read"}}},
			false,
		},
		"to be assigned, in a team with rights by units": {
			answers{"/permission": 403, "/assignees": anna, "/teams": []object{{"permission": "none"}}}, false,
		},
		"the teams are withheld": {
			answers{"/permission": 403, "/assignees": anna, "/teams": 403}, false,
		},
		"the list is withheld": {
			answers{"/permission": 403, "/assignees": 403, "/teams": 405}, false,
		},
		"there is no such list": {
			answers{"/permission": 403, "/assignees": 404, "/teams": 405}, false,
		},
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			for end, says := range tt.says {
				if !strings.HasSuffix(r.URL.Path, end) {
					continue
				}
				if status, ok := says.(int); ok {
					w.WriteHeader(status)
					_, _ = w.Write([]byte(`{"message":"no"}`))
					return
				}
				_ = json.NewEncoder(w).Encode(says)
			}
		})
		if got, err := f.client().Permission(t.Context(), "anna"); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", promise, got, err, tt.want)
		}
	}
}

func TestAServerThatFailsTellsNothingOfRights(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	got, err := f.client().Permission(t.Context(), "a/b")
	if got || !errors.Is(err, reviewer.ErrUnavailable) ||
		!strings.Contains(err.Error(), "asking what a/b may do in alice/shop") {
		t.Errorf("%v, %v", got, err)
	}
	if seen := f.requests(); !strings.HasPrefix(seen[0], "GET /api/v1/repos/alice/shop/collaborators/a%2Fb/permission") {
		t.Errorf("%q", seen)
	}
}
