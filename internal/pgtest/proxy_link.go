package pgtest

// This file forwards one connection, message by message.

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Link is one connection through a [Proxy].
type Link struct {
	proxy  *Proxy
	client *net.TCPConn
	server *net.TCPConn // set before the messages of the client are read
	over   chan struct{}

	statements map[string]string // prepared: the text of each; for the client's side alone

	mu     sync.Mutex
	closed bool
	held   chan struct{} // closed by Release; nil: not held
	freed  int           // calls of Release
	params map[string]string
	pid    uint32
	queue  []*Batch // sent and not answered, oldest first
	open   bool     // a transaction is open once all of queue is answered
}

// Param returns a parameter with which the client began the connection: application_name, user, database.
func (l *Link) Param(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.params[name]
}

// PID is the process ID that the server gave for the connection, 0 before it did.
func (l *Link) PID() uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pid
}

// Cut resets the connection on both sides.
func (l *Link) Cut() {
	if l.close() {
		l.proxy.count(func(c *Counts) *int { return &c.Cut })
	}
}

// Hold lets nothing pass in either direction until Release or a cut.
func (l *Link) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold()
}

func (l *Link) hold() {
	if l.held == nil {
		l.held = make(chan struct{})
	}
}

// holdUnlessFreed holds what a rule was asked about when Release had been called that often: whoever heard of the link from the rule may release it before it is held.
func (l *Link) holdUnlessFreed(freed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.freed == freed {
		l.hold()
	}
}

// Release lets a held connection go on.
func (l *Link) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed++
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

// close resets both sides and reports whether this call did it.
func (l *Link) close() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	close(l.over)
	for _, c := range []*net.TCPConn{l.client, l.server} {
		if c != nil {
			_ = c.SetLinger(0)
			_ = c.Close()
		}
	}
	return true
}

var errCut = errors.New("the connection was cut")

// pass waits while the link is held.
func (l *Link) pass() error {
	for {
		l.mu.Lock()
		held, closed := l.held, l.closed
		l.mu.Unlock()
		switch {
		case closed:
			return errCut
		case held == nil:
			return nil
		}
		select {
		case <-held:
		case <-l.over:
		}
	}
}

// serve forwards until one side ends.
func (l *Link) serve() {
	defer l.proxy.drop(l)
	defer l.close()
	in := newMessages(l.client)
	start, err := l.startup(in)
	if err != nil || isCancel(start) && l.proxy.losesCancels() {
		return
	}
	server, err := net.Dial("tcp", l.proxy.target)
	if err != nil {
		l.proxy.count(func(c *Counts) *int { return &c.Refused })
		return
	}
	l.mu.Lock()
	if l.server = server.(*net.TCPConn); l.closed {
		_ = l.server.Close()
	}
	l.mu.Unlock()
	if err := l.send(l.server, start); err != nil {
		return
	}
	if isCancel(start) { // the server says nothing and closes
		_, _ = io.Copy(io.Discard, l.server)
		return
	}
	l.proxy.count(func(c *Counts) *int { return &c.Links })
	var answers sync.WaitGroup
	answers.Go(func() {
		defer l.close()
		_ = l.fromServer(newMessages(l.server))
	})
	_ = l.fromClient(in)
	l.close()
	answers.Wait()
}

// Requests that stand in place of a protocol version.
const (
	cancelRequest = 80877102
	tlsRequest    = 80877103
	gssRequest    = 80877104
)

func isCancel(start []byte) bool { return binary.BigEndian.Uint32(start[4:]) == cancelRequest }

// startup reads the first message, which has no type. Encryption is declined.
func (l *Link) startup(in *messages) ([]byte, error) {
	for {
		head, err := in.Peek(4)
		if err != nil {
			return nil, err
		}
		n := binary.BigEndian.Uint32(head)
		if n < 8 || n > 10_000 {
			return nil, fmt.Errorf("a first message of %d bytes", n)
		}
		start := make([]byte, n)
		if _, err := io.ReadFull(in, start); err != nil {
			return nil, err
		}
		switch binary.BigEndian.Uint32(start[4:]) {
		case tlsRequest, gssRequest:
			if err := l.send(l.client, []byte{'N'}); err != nil {
				return nil, err
			}
		case cancelRequest:
			return start, nil
		default:
			var m pgproto3.StartupMessage
			if err := m.Decode(start[4:]); err != nil {
				return nil, err
			}
			l.mu.Lock()
			l.params = m.Parameters
			l.mu.Unlock()
			return start, nil
		}
	}
}

func (l *Link) send(to *net.TCPConn, b []byte) error {
	if err := l.pass(); err != nil || len(b) == 0 {
		return err
	}
	_, err := to.Write(b)
	return err
}

// messages reads what has a type and a length.
type messages struct{ *bufio.Reader }

func newMessages(c net.Conn) *messages { return &messages{bufio.NewReaderSize(c, 32<<10)} }

// next appends the next message, whole, to buf, and returns its type and body, which are valid as long as buf.
func (m *messages) next(buf []byte) (all []byte, kind byte, body []byte, err error) {
	head, err := m.Peek(5)
	if err != nil {
		return buf, 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[1:])) + 1
	if n < 5 || n > 1<<30 {
		return buf, 0, nil, fmt.Errorf("a message %q of %d bytes", head[0], n)
	}
	at := len(buf)
	buf = append(buf, make([]byte, n)...)
	if _, err := io.ReadFull(m, buf[at:]); err != nil {
		return buf, 0, nil, err
	}
	return buf, buf[at], buf[at+5:], nil
}

// more reports whether a further message has begun to arrive.
func (m *messages) more() bool { return m.Buffered() > 0 }
