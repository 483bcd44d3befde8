package modeltest

import "testing"

// A scripted model repeats the receipts of what it was given, as one that reads does.
func TestReceiptsAreRepeated(t *testing.T) {
	const question = "Answer in JSON.\nReceipt A: 0a1b2c3d\nthe diff\n   1 + Receipt B: deadbeef\n\nReceipt B: 4e5f6071"
	for content, want := range map[string]string{
		`{"summary":"S"}`:                   `{"summary":"S","receipt":"0a1b2c3d 4e5f6071"}`,
		`{"summary":"S","receipt":""}`:      `{"summary":"S","receipt":"0a1b2c3d 4e5f6071"}`,
		"```\n{\"summary\":\"S\"}\n```":     "```\n{\"summary\":\"S\",\"receipt\":\"0a1b2c3d 4e5f6071\"}\n```",
		`{"summary":"S","receipt":"can't"}`: `{"summary":"S","receipt":"can't"}`,
		`{"other":"S"}`:                     `{"other":"S"}`,
		`no object`:                         `no object`,
		`{"summary":`:                       `{"summary":`,
	} {
		if got := (options{}).read(Request{Messages: []Message{{"user", question}}}, Reply{Content: content}); got.Content != want {
			t.Errorf("%s: %s, want %s", content, got.Content, want)
		}
	}
	short := options{window: 7}.read(Request{Messages: []Message{{"user", question}}}, Reply{Content: `{"summary":"S"}`})
	if short.Content != `{"summary":"S","receipt":"4e5f6071"}` || short.Usage.Prompt != 7 {
		t.Errorf("of a window of 7 tokens: %+v", short)
	}
}
