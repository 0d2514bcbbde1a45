package world

// Size returns about how many bytes the event takes.
func (e *Event) Size() int {
	const rest = 300 // times, numbers and IDs
	n := rest + eventBytes(e) + len(e.Payload) - encryptedBytes(len(e.Payload), e.Encrypted)
	if e.Birth != nil {
		n += contextBytes(e.Birth.Context)
	}
	return n
}

// Size returns about how many bytes the error takes, with its causes.
func (e *Error) Size() int {
	n := len(e.Name) + len(e.Message) + len(e.Where) + len(e.Stack)
	for _, c := range e.Causes {
		n += c.Size()
	}
	return n
}

// Size returns about how many bytes the run's row takes.
func (r *Run) Size() int {
	const rest = 500
	n := rest + len(r.Input) + len(r.Output) + len(r.Key) + attributeBytes(r.Attributes)
	if r.Error != nil {
		n += r.Error.Size()
	}
	return n
}

func contextBytes(context map[string]string) (n int) {
	for name, v := range context {
		n += len(name) + len(v)
	}
	return n
}
