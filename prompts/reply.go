package prompts

import _ "embed" // for Reply

// Reply is the template of a reply that `settle` writes into a conversation, in
// the language of text/template.
//
//go:embed reply.md.tmpl
var Reply string
