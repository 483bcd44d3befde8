package forgetest

import "sync"

// Shared is a forge for many goroutines. Each request is one step under its lock,
// a PostReview in steps several.
type Shared struct {
	mu    sync.Mutex
	forge *Forge
}

// Share makes a forge shared; it must not be used directly any more.
func Share(f *Forge) *Shared { return &Shared{forge: f} }

// As is the pull request with the account's token.
func (s *Shared) As(login string) *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.forge.As(login)
	v.lock = &s.mu
	return v
}

// Do calls fn with the forge while nobody else uses it.
func (s *Shared) Do(fn func(*Forge)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.forge)
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}
