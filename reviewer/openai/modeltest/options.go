package modeltest

// Option changes how a server behaves for all requests.
type Option func(*options)

type options struct {
	apiKey           string
	models           []string
	refuseJSONSchema bool
	refuseJSONObject bool
	window           int // 0: any
	kind             Kind
}

// APIKey makes every endpoint want "Authorization: Bearer key"; anything else
// gets a 401. With the empty key, the default, anything is accepted.
func APIKey(key string) Option {
	return func(o *options) { o.apiKey = key }
}

// Models names the models that exist, in the order they are listed; any other
// gets a 404 with the code model_not_found. Without this option every name is
// accepted and the list of models is empty.
func Models(ids ...string) Option {
	return func(o *options) { o.models = append(o.models, ids...) }
}

// RefuseJSONSchema answers response_format json_schema with a 400, as servers
// without structured outputs do.
func RefuseJSONSchema() Option {
	return func(o *options) { o.refuseJSONSchema = true }
}

// RefuseJSONObject answers response_format json_object with a 400.
func RefuseJSONObject() Option {
	return func(o *options) { o.refuseJSONObject = true }
}

// Kind is a kind of server that says in its own way how large its models' context is,
// once [Window] gives it one.
type Kind string

// The kinds.
const (
	VLLM     Kind = "vllm"
	LlamaCPP Kind = "llamacpp"
	Ollama   Kind = "library" // says it once a model has been asked something
)

// Says makes the server one of that kind.
func Says(kind Kind) Option {
	return func(o *options) { o.kind = kind }
}
