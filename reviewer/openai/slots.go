package openai

import (
	"context"
	"sync"
)

// slots has requests wait for each other, once it is known that the server answers one at
// a time. The zero value is ready for use.
type slots struct {
	mu     sync.Mutex
	single bool // one at a time from now on
	taken  int
	freed  chan struct{} // closed when one leaves; nil if nobody waits
}

// take waits for its turn.
func (s *slots) take(ctx context.Context) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		if !s.single || s.taken == 0 {
			s.taken++
			s.mu.Unlock()
			return nil
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (s *slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

// oneByOne leaves one slot.
func (s *slots) oneByOne() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.single = true
}
