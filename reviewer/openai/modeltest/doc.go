// Package modeltest is a scripted server that speaks the part of the OpenAI
// API the reviewer uses. It is real code with tests of its own: unit tests,
// the demo and the end-to-end run all talk HTTP to it instead of to a model.
//
// A [Script] decides what is answered. [Sequence], [ByMatch] and [LoadScript]
// build scripts; [Answer] and [Fail] build replies. [New] starts a server on
// a loopback port, [NewHandler] gives the same as an http.Handler.
//
// What is served:
//
//	POST /v1/chat/completions   one choice, never streamed, no tools
//	GET  /v1/models             the configured models
//	GET  /v1/models/{id}        one of them; ids may contain slashes
//
// Everything else is a 404. Every failure has OpenAI's shape:
//
//	{"error":{"message":"…","type":"…","param":null,"code":null}}
//
// Before the script is asked, a chat request is checked as a strict server
// would check it, so that a wrong request shows in tests and not first on a
// paid endpoint: the key (401), the model (404), then with 400 streaming,
// tools, n above 1, missing or unknown fields of messages, response_format
// json_object without the word "json" in the messages, and a json_schema that
// strict structured outputs do not allow.
//
// Limits: contents are text only, the answer is not checked against the
// schema (lax servers don't either), and max_tokens, temperature and the like
// are accepted and ignored; [Request.Has] tells whether they were sent.
package modeltest
