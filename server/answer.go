package server

// This file writes answers.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// answer writes a value as JSON, payloads as they are in the log: <, > and & are not escaped.
func answer(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that is gone is not told
	return nil
}

// accepted answers that something is durable and will be seen to.
type accepted struct {
	Accepted bool `json:"accepted"`
}

func accept(w http.ResponseWriter) error { return answer(w, http.StatusAccepted, accepted{true}) }
