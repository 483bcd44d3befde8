package prompts

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed base.md task.md roles
var files embed.FS

// Request is what a model is asked, in the order it is sent. The first part is
// always the same, the second the same for every role on the same head, and so are
// the guidelines, so that a server's prefix cache serves them all.
type Request struct {
	System   string // who the model is, the rules, the form of the answer
	Material string // the pull request, fenced as data
	Task     string // the project's guidelines, the role, earlier findings, the operator's instructions
	Asks     bool   // whether earlier findings are among them

	// Codes are the receipts in the parts above, in order: an answer without one of them
	// was given by a model that hasn't read all of the request.
	Codes []string
	// Tokens is about how many tokens the request takes; 0 if nobody has counted.
	Tokens int
}

// Input is what a request is built from.
type Input struct {
	Role         string
	Guidelines   string   // what the project says about its ways of working; may be empty
	Instructions string   // of the role; see Instructions
	Boundary     string   // code in the boundary lines of Material
	Material     []string // fenced already; a receipt follows each
	Receipt      string   // secret from which the receipts are made; "" for none
	Since        string   // commit up to which the role has reviewed before, if the material is what changed since
	Part, Parts  int      // which part of the pull request the material is, from 1, if it is one of several
	Earlier      string   // open findings of earlier rounds, fenced already with a code of its own; may be empty
	Feedback     string   // further feedback of the operator's; may be empty
	Extra        string   // the operator's own instructions; may be empty
}

// Build renders a request.
func Build(in Input) (Request, error) {
	m := marks{secret: in.Receipt}
	system, err := render("base.md", in, &m)
	if err != nil {
		return Request{}, err
	}
	// The code stands here and not among the rules: those stay the same for every pull request.
	material := "The code of the boundary lines is " + in.Boundary + ".\n\n"
	if in.Since != "" {
		material += "You have reviewed this pull request up to the commit " + in.Since + ". The diff shows only what changed since; its old numbers count in that commit. Report what these changes bring in, not what was there before.\n\n"
	}
	if in.Parts > 1 {
		material += fmt.Sprintf("The pull request is too long for one request: this is part %d of %d. What is in the other parts is reviewed apart.\n\n", in.Part, in.Parts)
	}
	for _, part := range in.Material {
		material += strings.TrimRight(part, "\n") + "\n\n" + m.next()
	}
	task, err := render("task.md", in, &m)
	if err != nil {
		return Request{}, err
	}
	return Request{System: system, Material: strings.TrimRight(material, "\n"), Task: task, Asks: in.Earlier != "", Codes: m.codes}, nil
}

func render(name string, in Input, m *marks) (string, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{"receipt": m.next}).ParseFS(files, name)
	if err != nil {
		return "", fmt.Errorf("prompt template %s: %w", name, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, in); err != nil {
		return "", fmt.Errorf("prompt template %s: %w", name, err)
	}
	return strings.TrimSpace(b.String()), nil
}

// Roles lists the roles with instructions of their own.
var Roles = []string{"security", "logic", "tests", "performance", "docs"}

// Instructions are the built-in instructions for a role; a name that isn't
// among Roles gets the general reviewer's.
func Instructions(role string) string {
	name := "general"
	for _, known := range Roles {
		if role == known {
			name = known
		}
	}
	text, err := files.ReadFile("roles/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("prompts: the embedded role %s is missing", name)) // the test suite reads every one
	}
	return strings.TrimSpace(string(text))
}
