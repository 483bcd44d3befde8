package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		given []string
		want  http.Header // nil: refused
	}{
		{nil, http.Header{}},
		{[]string{"x-portkey-config=pc-1, pc=2"}, http.Header{"X-Portkey-Config": {"pc-1, pc=2"}}},
		{[]string{"A=1\n b=2 \n\n", "a=3"}, http.Header{"A": {"1", "3"}, "B": {"2"}}},
		{[]string{"A="}, http.Header{"A": {""}}},
		{[]string{"secret-value"}, nil},
		{[]string{"=secret-value"}, nil},
		{[]string{"a b=secret-value"}, nil},
	} {
		got, err := (&reviewCmd{Headers: tt.given}).headers()
		if tt.want == nil {
			if err == nil || strings.Contains(err.Error(), "secret-value") {
				t.Errorf("%q: %v", tt.given, err)
			}
			continue
		}
		if d := cmp.Diff(tt.want, got); d != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", tt.given, err, d)
		}
	}
}
