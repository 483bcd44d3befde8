package thread

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var (
	//go:embed schema/threads.json
	threadsSchema []byte
	//go:embed schema/triage.json
	triageSchema []byte
	//go:embed schema/settle.json
	settleSchema []byte
)

// Schemas is a JSON object with the schemas (JSON Schema 2020-12) of the list that
// `threads` prints and of the two payloads, under the keys threads, triage and settle.
func Schemas() []byte {
	together := fmt.Appendf(nil, `{"threads":%s,"triage":%s,"settle":%s}`,
		bytes.TrimSpace(threadsSchema), bytes.TrimSpace(triageSchema), bytes.TrimSpace(settleSchema))
	var out bytes.Buffer
	if err := json.Indent(&out, together, "", "  "); err != nil {
		panic(fmt.Sprintf("the embedded schemas are not JSON: %v", err))
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// The ids that the schemas give themselves.
const (
	triageURN = "urn:review-bot:triage"
	settleURN = "urn:review-bot:settle"
)

// payloads are the schemas that payloads are held against. The schemas are part of
// the program, so one that is none is a mistake of the program.
var payloads = sync.OnceValue(func() (s struct{ triage, settle *jsonschema.Schema }) {
	c := newCompiler()
	for urn, document := range map[string][]byte{triageURN: triageSchema, settleURN: settleSchema} {
		addSchema(c, urn, document)
	}
	s.triage, s.settle = c.MustCompile(triageURN), c.MustCompile(settleURN)
	return s
})

// newCompiler reads nothing but what it is given: neither files nor the network.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	return c
}

func addSchema(c *jsonschema.Compiler, urn string, document []byte) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err == nil {
		err = c.AddResource(urn, doc)
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", urn, err))
	}
}
