package sentinel

// Field is the value of a field that the grammar itself doesn't know; "" if there
// is none.
func (s Sentinel) Field(key string) string {
	for _, f := range s.Extra {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}
