package main

// This file stands between standard input and the SDK, which ends at a line that is no message and
// never answers a batch that has a notification. Here each such line has its error as its answer, and
// a batch is taken apart: its answers are one line, when the last of them is there.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is the transport over lines of from and to.
type lines struct {
	from *bufio.Reader
	left []byte // of messages, to be read

	mu      sync.Mutex // of what follows
	to      io.Writer
	batches map[jsonrpc.ID]*batch // by the request that has no answer yet
}

// batch is what is known of the answers to a batch.
type batch struct {
	answers []json.RawMessage
	waits   int // requests without an answer
}

// overLines is a transport over standard input and output, or their like.
func overLines(from io.Reader, to io.Writer) mcp.Transport {
	l := &lines{from: bufio.NewReader(from), to: to, batches: map[jsonrpc.ID]*batch{}}
	return &mcp.IOTransport{Reader: io.NopCloser(l), Writer: l, MaxLineLength: -1}
}

// Codes of errors of JSON-RPC.
const (
	noJSON    = -32700
	noMessage = -32600
)

// Read gives the messages of the client, a line each.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		line, err := l.line()
		if len(line) > 0 {
			l.left = l.messages(line)
		}
		if err != nil && len(l.left) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}

// line is the next one, without its end. One that is too long is passed over.
func (l *lines) line() (line []byte, err error) {
	long := false
	for {
		part, err := l.from.ReadSlice('\n')
		if long = long || len(line)+len(part) > mostMessage; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, errors.Join(err, l.write(refusal(nil, noMessage, "the message is larger than 4 MiB")))
		}
		return bytes.TrimSpace(line), err
	}
}

// messages are those of a line. What is no message is answered here.
func (l *lines) messages(line []byte) (out []byte) {
	var members []json.RawMessage
	if !json.Valid(line) {
		_ = l.write(refusal(nil, noJSON, "the line is no JSON"))
		return nil
	}
	if line[0] != '[' {
		if _, wrong := requestID(line); wrong != nil {
			_ = l.write(wrong)
			return nil
		}
		return append(line, '\n')
	}
	if err := json.Unmarshal(line, &members); err != nil || len(members) == 0 {
		_ = l.write(refusal(nil, noMessage, "the batch is empty"))
		return nil
	}
	b := &batch{}
	l.mu.Lock()
	for _, m := range members {
		id, wrong := requestID(m)
		if id.IsValid() && l.batches[id] != nil {
			wrong = refusal(m, noMessage, "another request of a batch has this ID")
		}
		switch {
		case wrong != nil:
			b.answers = append(b.answers, wrong)
			continue
		case id.IsValid():
			l.batches[id] = b
			b.waits++
		}
		var flat bytes.Buffer
		_ = json.Compact(&flat, m) // it is JSON, and may have line ends
		out = append(append(out, flat.Bytes()...), '\n')
	}
	l.mu.Unlock()
	if b.waits == 0 && len(b.answers) > 0 {
		_ = l.write(b.line())
	}
	return out
}

// requestID is the ID of a request, and what is answered to what is no message.
func requestID(m json.RawMessage) (id jsonrpc.ID, wrong json.RawMessage) {
	is, err := jsonrpc.DecodeMessage(m)
	if err != nil {
		return id, refusal(m, noMessage, err.Error())
	}
	if r, ok := is.(*jsonrpc.Request); ok {
		id = r.ID
	}
	return id, nil
}

// refusal is the answer to what is no message, with its ID where it has one.
func refusal(m json.RawMessage, code int, why string) json.RawMessage {
	var is struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(m, &is)
	var id any
	if json.Unmarshal(is.ID, &id) == nil {
		switch id.(type) {
		case string, float64:
		default:
			is.ID = nil
		}
	}
	if is.ID == nil {
		is.ID = json.RawMessage("null")
	}
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": is.ID, "error": map[string]any{"code": code, "message": why}})
	return b
}

func (b *batch) line() []byte {
	line, _ := json.Marshal(b.answers) // each is JSON
	return line
}

// Write takes a line of the server. An answer to a member of a batch waits for the others.
func (l *lines) Write(p []byte) (int, error) {
	line := bytes.TrimSpace(p)
	if is, err := jsonrpc.DecodeMessage(line); err == nil {
		if r, ok := is.(*jsonrpc.Response); ok {
			l.mu.Lock()
			if b := l.batches[r.ID]; b != nil {
				delete(l.batches, r.ID)
				b.answers = append(b.answers, bytes.Clone(line))
				if b.waits--; b.waits > 0 {
					l.mu.Unlock()
					return len(p), nil
				}
				line = b.line()
			}
			l.mu.Unlock()
		}
	}
	return len(p), l.write(line)
}

func (l *lines) write(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.to.Write(append(line, '\n'))
	return err
}

// Close leaves standard output open.
func (l *lines) Close() error { return nil }
