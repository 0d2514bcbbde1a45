package server

// This file posts what was published to the endpoints of subscriptions: at least once, signed, later each time where it
// fails, and nowhere but where it may go.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/stepwell/stepwell"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

const (
	postTime      = 30 * time.Second // for an answer
	mostPostBody  = 64 << 10         // bytes of an answer that are read, so that its connection serves again
	postParallel  = 8                // to one endpoint at once
	firstPostWait = 5 * time.Second  // before the second try, and twice as long each time
	mostPostWait  = time.Hour
	mostRetryWait = 24 * time.Hour // that an endpoint can ask for
	defaultGiveUp = 3 * 24 * time.Hour
	unreadPause   = 15 * time.Second
)

// newCourier works for the topics of an App's database, and posts to endpoints too.
func newCourier(app *stepwell.App, log *slog.Logger, private bool) *courier.Courier {
	c := kit.AppOf(app).Courier
	starts := c.Work
	c.Log = log
	c.Work = func(s *world.Subscription) *courier.Work {
		if s.Endpoint == nil {
			return starts(s)
		}
		return newOutlet(s, log, c.Spread.Queues, private)
	}
	return c
}

// Spread works for topics and schedules until ctx ends: it delivers publications, starts runs of
// subscriptions and schedules, and posts to endpoints. It returns when no delivery is in flight.
// [Server.Serve] calls it; call it yourself if you mount the server in your own program. Several
// servers may do so at once.
func (s *Server) Spread(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.topics.Run(ctx) })
	k := kit.AppOf(s.app).Timetable
	k.Log = s.log
	all.Go(func() { k.Run(ctx) })
	all.Wait()
}

// outlet is the endpoint of a subscription.
type outlet struct {
	name    string
	queue   string
	to      world.PostTarget
	secrets []PushSecret
	hidden  string // ID of the key that a secret is encrypted with, and is not here; "": all are known
	log     *slog.Logger
	queues  world.Messenger
	client  *http.Client

	mu      sync.Mutex
	circuit circuit // guarded by mu
}

func newOutlet(s *world.Subscription, log *slog.Logger, queues world.Messenger, private bool) *courier.Work {
	o := &outlet{
		name: s.Name, queue: s.OwnQueue(), to: *s.Endpoint, log: log.With("subscription", s.Name), queues: queues,
		circuit: circuit{most: 5, reset: 5 * time.Second, state: circuitClosed},
	}
	for _, secret := range s.Endpoint.Secrets {
		if id, _ := secret.Encrypted(); id != "" {
			o.hidden = id
		} else if key, err := secret.Key(); err == nil { // it was looked at when it was made
			o.secrets = append(o.secrets, PushSecret{key})
		}
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return mayPost(address, o.to.Private, private)
	}}
	transport := &http.Transport{ // and no proxy: what it connects to nobody would look at
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxConnsPerHost: postParallel, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
	}
	o.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &courier.Work{Parallel: postParallel, Do: o.do, Room: o.room, End: transport.CloseIdleConnections}
}

// errPrivate is why an address is not posted to.
var errPrivate = fmt.Errorf("%w: the address belongs to a private network, to this machine, or is otherwise not on the internet", stepwell.ErrInvalid)

// mayPost refuses addresses that are nobody's on the internet, unless the subscription and the server allow them.
func mayPost(address string, asked, allowed bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if public(at.Addr()) || asked && allowed {
		return nil
	}
	return fmt.Errorf("%w: %s: both must allow it, the subscription (private) and the server (--private-endpoints)", errPrivate, at.Addr())
}

// reserved are the networks beside those that netip knows which no endpoint has: of carriers, of tests and
// documentation, those that stand for IPv4 addresses, and what is to come.
var reserved = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10")

func prefixes(all ...string) (list []netip.Prefix) {
	for _, text := range all {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// checkEndpoint refuses an endpoint that could never be posted to.
func checkEndpoint(t *world.PostTarget, allowed bool) error {
	if t == nil {
		return nil
	}
	if t.Private && !allowed {
		return invalid("endpoint: private: this server posts only to public addresses: see --private-endpoints")
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil // it is refused for that
	}
	if a, err := netip.ParseAddr(u.Hostname()); !t.Private && (err == nil && !public(a) || loopback(u.Hostname())) {
		return fmt.Errorf("endpoint %s: %w: set private, if the server allows that", u.Host, errPrivate)
	}
	return nil
}

// room is how much is posted just now: nothing while the circuit is open, then one, and if that has an answer all.
func (o *outlet) room(most int) (int, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if wait := o.circuit.wait(time.Now()); wait > 0 {
		return 0, wait
	}
	o.circuit.well()
	switch {
	case o.circuit.state == circuitClosed:
		return most, 0
	case most < postParallel: // one is under way
		return 0, 100 * time.Millisecond
	}
	return 1, 0
}

// do posts a message, and says how its receive ends.
func (o *outlet) do(ctx context.Context, m *world.Message) world.Settlement {
	switch {
	case m.Damage != "":
		return m.End(world.Bury, 0, m.Damage)
	case m.Encrypted != "" || o.hidden != "":
		return m.End(world.Unread, unreadPause, fmt.Sprintf("this server does not have the key %q", cmp.Or(m.Encrypted, o.hidden)))
	}
	wait, err := o.post(ctx, m)
	switch {
	case err == nil:
		o.answered(nil)
		return m.End(world.Ack, 0, "")
	case errors.Is(context.Cause(ctx), world.ErrReceipt):
		return m.End("", 0, "")
	case ctx.Err() != nil: // the server ends
		return courier.Unread(m, 0)
	}
	o.answered(err)
	why := err.Error()
	backoff := min(firstPostWait<<min(max(m.Receives-1, 0), 16), mostPostWait)
	after := max(backoff-rand.N(backoff/4), min(wait, mostRetryWait))
	switch {
	case errors.Is(err, errPostGone):
		why += o.pause(ctx)
	case time.Since(m.SentAt)+after > cmp.Or(o.to.GiveUp, defaultGiveUp):
		return m.End(world.Bury, 0, why+fmt.Sprintf(" (given up after %s, and %d tries)", time.Since(m.SentAt).Round(time.Second), m.Receives))
	}
	return m.End(world.Nack, after, why)
}

// errPostGone: the endpoint says that it is to be posted to no more.
var errPostGone = errors.New("the endpoint answered 410 Gone")

// errAnswered: what failed is not the endpoint's connection, but what it says.
var errAnswered = errors.New("the endpoint answered")

// answered notes whether the endpoint is there.
func (o *outlet) answered(err error) {
	o.mu.Lock()
	before := o.circuit.state
	closed := false
	if err == nil || errors.Is(err, errAnswered) || errors.Is(err, errPostGone) {
		closed = o.circuit.success()
	} else {
		o.circuit.failure(time.Now())
	}
	now, failures := o.circuit.state, o.circuit.failures
	o.mu.Unlock()
	switch {
	case closed:
		o.log.Info("the endpoint of a subscription works again")
	case before == circuitClosed && now == circuitOpen:
		o.log.Warn("the endpoint of a subscription fails: posts are rare until it answers", "failures", failures, "error", err)
	}
}

// pause has nothing posted any more, and says so.
func (o *outlet) pause(ctx context.Context) string {
	err := o.queues.PauseQueue(ctx, o.queue, &world.QueuePause{By: "stepwell", Reason: errPostGone.Error() + ": resume it when it is back, or unsubscribe", Since: world.Now()})
	if err != nil {
		return fmt.Sprintf(": the subscription could not be paused: %v", err)
	}
	o.log.Warn("a subscription is paused", "error", errPostGone, "hint", "stepwell topics resume "+o.name+", or stepwell topics unsubscribe "+o.name)
	return ": the subscription is paused"
}

// posted is what an endpoint gets, as Standard Webhooks has it.
type posted struct {
	Type      string            `json:"type"` // the topic
	Timestamp string            `json:"timestamp"`
	Data      json.RawMessage   `json:"data"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// bodyOf is the body of a message, the ID of its publication, and its trace context.
func bodyOf(m *world.Message) (body []byte, id string, trace map[string]string, err error) {
	p := posted{Type: m.Headers[world.HeaderTopic], Timestamp: m.Headers[world.HeaderPublished], Data: m.Payload}
	trace = map[string]string{}
	for name, value := range m.Headers {
		switch name {
		case world.HeaderTopic, world.HeaderPublication, world.HeaderPublished:
			continue
		case "traceparent", "tracestate":
			if httpguts.ValidHeaderFieldValue(value) { // else the request could not be made, and the endpoint not be blamed
				trace[name] = value
			}
		}
		if p.Headers == nil {
			p.Headers = map[string]string{}
		}
		p.Headers[name] = value
	}
	body, err = json.Marshal(p)
	return body, cmp.Or(m.Headers[world.HeaderPublication], m.ID), trace, err
}

// post posts a message. An error says what is wrong, and wait how long the endpoint asks to be left alone.
func (o *outlet) post(ctx context.Context, m *world.Message) (wait time.Duration, err error) {
	body, id, trace, err := bodyOf(m)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, postTime, fmt.Errorf("no answer within %s", postTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.to.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Stepwell")
	for name, value := range trace {
		req.Header.Set(name, value)
	}
	signAs(req.Header, id, o.secrets, body, time.Now())
	resp, err := o.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL, which is known
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, mostPostBody)) // what it says is not ours to keep
	_ = resp.Body.Close()
	return answerOf(resp)
}

// answerOf says what an endpoint's answer comes to.
func answerOf(resp *http.Response) (wait time.Duration, err error) {
	code, text := resp.StatusCode, strconv.Itoa(resp.StatusCode)+" "+http.StatusText(resp.StatusCode)
	switch {
	case code/100 == 2:
		return 0, nil
	case code == http.StatusGone:
		return 0, errPostGone
	case code/100 == 3:
		return 0, fmt.Errorf("%w %s: it is not followed: change the subscription's URL", errAnswered, text)
	case code >= 500 || code == http.StatusTooManyRequests: // for the circuit it is away
		return retryAfter(resp.Header.Get("Retry-After"), time.Now()), fmt.Errorf("the endpoint answered %s", text)
	}
	return retryAfter(resp.Header.Get("Retry-After"), time.Now()), fmt.Errorf("%w %s", errAnswered, text)
}

// retryAfter reads seconds or a date; 0: neither.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
