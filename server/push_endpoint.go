package server

// This file is one endpoint that is pushed to: what it has, and how a message is sent.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

const (
	longestSlice = 15 * time.Minute // that is believed of an endpoint
	askTime      = 10 * time.Second // for its health and its manifest
	mostAnswer   = 1 << 20          // bytes of an answer that are read
	mostManifest = 1000             // workflows and steps that are believed of an endpoint, each
)

// endpoint is a program that serves a [Flow].
type endpoint struct {
	p      *pusher
	base   *url.URL
	client *http.Client
	check  chan struct{} // look at its circuit

	mu       sync.Mutex
	circuit  circuit       // guarded by mu
	known    bool          // has is what it said; guarded by mu
	manifest flowManifest  // guarded by mu
	slice    time.Duration // guarded by mu
	flying   int           // messages; guarded by mu
	fault    string        // the last failure; guarded by mu
}

// CheckPushEndpoint returns an error if text is not the URL of an endpoint.
func CheckPushEndpoint(text string) error {
	_, err := parseEndpoint(text)
	return err
}

func parseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, invalid("push endpoint %.200q: write it like https://app.example.com", world.ShownURL(text))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, invalid("push endpoint %s: it takes no user, query or fragment", world.ShownURL(text))
	}
	return u, nil
}

func newEndpoint(p *pusher, text string) (*endpoint, error) {
	u, err := parseEndpoint(text)
	if err != nil {
		return nil, err
	}
	if len(p.opts.Secrets) == 0 && !loopback(u.Hostname()) {
		return nil, invalid("push endpoint %s is not on this machine, and there is no secret to sign messages with: give one that the endpoint also has", u)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	e := &endpoint{p: p, base: u, check: make(chan struct{}, 1)}
	e.circuit = circuit{most: p.opts.Failures, reset: p.opts.Reset, state: circuitClosed}
	e.client = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: askTime}).DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: p.opts.Concurrency, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: askTime, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

// room is how many messages it may be sent now, and what it has.
func (e *endpoint) room() (n int, classes []world.Class, steps []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.known {
		return 0, nil, nil
	}
	n = e.p.opts.Concurrency
	switch e.circuit.state {
	case circuitOpen:
		return 0, nil, nil
	case circuitHalf:
		n = 1
	}
	for _, wf := range e.manifest.Workflows {
		classes = append(classes, world.Class{Workflow: wf.Name, Version: wf.Version})
		if open := (world.Class{Workflow: wf.Name}); !slices.Contains(classes, open) {
			classes = append(classes, open) // runs whose birth left the version open
		}
	}
	for _, st := range e.manifest.Steps {
		steps = append(steps, st.Name)
	}
	return max(n-e.flying, 0), classes, steps
}

// has reports whether it has the code of a class.
func (e *endpoint) has(c world.Class) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.manifest.Workflows, func(wf push.Workflow) bool {
		return wf.Name == c.Workflow && (c.Version == 0 || wf.Version == c.Version)
	})
}

// watch keeps what is known of the endpoint up to date, and closes its circuit when it is well again, until ctx ends.
func (e *endpoint) watch(ctx context.Context) {
	defer e.client.CloseIdleConnections()
	for {
		e.mu.Lock()
		wait := e.circuit.wait(time.Now())
		e.mu.Unlock()
		if wait <= 0 {
			e.ask(ctx)
			wait = e.p.opts.Refresh
			e.mu.Lock()
			if !e.known {
				wait = min(wait, e.p.opts.Reset)
			}
			if d := e.circuit.wait(time.Now()); d > 0 {
				wait = d
			}
			e.mu.Unlock()
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-e.check:
		case <-t.C:
		}
		t.Stop()
	}
}

// ask asks the endpoint how it is, where its circuit is open, and what it has.
func (e *endpoint) ask(ctx context.Context) {
	e.mu.Lock()
	open := e.circuit.state == circuitOpen
	e.mu.Unlock()
	if open {
		var is health
		err := e.get(ctx, FlowPath, "__health", &is)
		if err == nil && !is.Healthy {
			err = errors.New("it reports that it is unhealthy")
		}
		if err != nil {
			e.failed(ctx, fmt.Errorf("health: %w", err))
			return
		}
	}
	var m flowManifest
	if err := e.get(ctx, ManifestPath, "", &m); err != nil {
		e.failed(ctx, fmt.Errorf("manifest: %w", err))
		return
	}
	slice, err := m.check()
	if err != nil {
		e.failed(ctx, fmt.Errorf("manifest: %w", err))
		return
	}
	e.mu.Lock()
	e.circuit.well()
	first, changed := !e.known, !sameManifest(&e.manifest, &m)
	e.manifest, e.slice, e.known = m, slice, true
	e.mu.Unlock()
	if first || changed {
		e.p.log.Info("push endpoint", "endpoint", e.base.String(), "workflows", len(m.Workflows), "steps", len(m.Steps), "build", m.Build, "slice", m.Slice)
	}
	e.p.kick()
}

func sameManifest(a, b *flowManifest) bool {
	return a.Build == b.Build && a.Slice == b.Slice && slices.Equal(a.Workflows, b.Workflows) && slices.Equal(a.Steps, b.Steps)
}

// check refuses a manifest that makes no sense.
func (m *flowManifest) check() (slice time.Duration, err error) {
	if len(m.Workflows) > mostManifest || len(m.Steps) > mostManifest {
		return 0, invalid("it has more than %d workflows or steps", mostManifest)
	}
	for _, wf := range m.Workflows {
		if err := world.CheckWorkflowName(wf.Name); err != nil {
			return 0, err
		}
		if wf.Version < 1 {
			return 0, invalid("workflow %s has version %d", wf.Name, wf.Version)
		}
	}
	for _, st := range m.Steps {
		if err := world.CheckName("step", st.Name); err != nil {
			return 0, err
		}
	}
	if slice, err = ParseDuration(m.Slice); err != nil {
		return 0, err
	}
	return min(slice, longestSlice), nil
}

// get asks for a JSON document.
func (e *endpoint) get(ctx context.Context, path, query string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	body, err := e.call(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return errors.New("its answer is not a valid answer of Stepwell")
	}
	return nil
}

// call sends a signed request. An answer that is none of success is a [*Problem].
func (e *endpoint) call(ctx context.Context, method, path, query string, body []byte) ([]byte, error) {
	u := *e.base
	u.Path += path
	u.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	sign(req.Header, e.p.opts.Secrets, body, time.Now())
	resp, err := e.client.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return nil, wrapped.Err // without the URL, which is known
	}
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return answer, nil
	}
	p := &Problem{}
	if json.Unmarshal(answer, p) != nil || p.Status != resp.StatusCode {
		p = &Problem{Status: resp.StatusCode, Code: "NOT_STEPWELL", Detail: "the answer does not come from Stepwell: " + http.StatusText(resp.StatusCode)}
	}
	return nil, p
}

// send sends a message, beside others.
func (e *endpoint) send(ctx context.Context, i *world.ReadyItem) {
	e.mu.Lock()
	e.flying++
	e.mu.Unlock()
	m := messageOf(i)
	k := itemKey{m.Run, m.Step}
	mine, giveUp := context.WithCancelCause(ctx)
	number := e.p.sends(k, giveUp)
	e.p.flying.Go(func() {
		defer giveUp(nil)
		changed := e.deliver(mine, m)
		if errors.Is(context.Cause(mine), errHung) {
			e.failed(ctx, errHung)
		}
		e.mu.Lock()
		e.flying--
		e.mu.Unlock()
		e.p.answered(k, number, changed)
	})
}

// deliver sends a message and waits for the answer. It reports whether the endpoint says that it has done something.
func (e *endpoint) deliver(ctx context.Context, m push.Message) (changed bool) {
	body, err := json.Marshal(m)
	if err != nil {
		return false
	}
	e.mu.Lock()
	limit := e.slice + e.p.opts.Margin
	e.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var got flowAnswer
	text, err := e.call(limited, http.MethodPost, FlowPath, "", body)
	if err == nil && json.Unmarshal(text, &got) != nil {
		err = errors.New("its answer is not a valid answer of Stepwell")
	}
	var p *Problem
	switch {
	case err == nil:
		e.succeeded()
		return got.Outcome != push.Busy
	case ctx.Err() != nil:
	case errors.As(err, &p) && p.Code == "NOT_FOUND": // it answers, but has another database
		e.succeeded()
		e.p.log.Warn("a push endpoint cannot find a run: does it use the same database?", "endpoint", e.base.String(), "run", m.Run)
	case errors.As(err, &p) && p.Code == "BUSY":
		e.succeeded()
		e.p.log.Debug("a push endpoint has no free capacity", "endpoint", e.base.String(), "run", m.Run)
	case limited.Err() != nil && e.works(ctx, m.Run): // a step takes its time
		e.p.log.Debug("a push endpoint is still at work", "endpoint", e.base.String(), "run", m.Run)
	default:
		e.failed(ctx, err)
	}
	return false
}

// works reports whether somebody owns a run.
func (e *endpoint) works(ctx context.Context, run string) bool {
	row, err := e.p.world.Run(ctx, run)
	return err == nil && row.Queue != nil && row.Queue.Owner != ""
}

// succeeded notes that a message had an answer.
func (e *endpoint) succeeded() {
	e.mu.Lock()
	closed := e.circuit.success()
	e.fault = ""
	e.mu.Unlock()
	if closed {
		e.p.log.Info("push endpoint is healthy again", "endpoint", e.base.String())
	}
}

// failed notes a failure. When it was one too many the circuit opens.
func (e *endpoint) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // ours
	}
	e.mu.Lock()
	before := e.circuit.state
	e.circuit.failure(time.Now())
	now, failures := e.circuit.state, e.circuit.failures
	e.fault = err.Error()
	e.mu.Unlock()
	if before != circuitOpen && now == circuitOpen {
		e.p.log.Warn("push endpoint fails: nothing is sent to it until it is healthy", "endpoint", e.base.String(), "failures", failures, "err", err)
		select {
		case e.check <- struct{}{}:
		default:
		}
		return
	}
	level := slog.LevelDebug
	if failures == 1 { // a mistyped URL is seen at once
		level = slog.LevelWarn
	}
	e.p.log.Log(ctx, level, "push endpoint failed, and is tried again", "endpoint", e.base.String(), "failures", failures, "err", err)
}

// PushEndpoint is the state of an endpoint.
type PushEndpoint struct {
	Endpoint string `json:"endpoint"`
	Healthy  bool   `json:"healthy"` // its circuit is closed, and its manifest is known
	// Circuit: closed, open, or half-open: its health check succeeded, and one message is tried.
	Circuit  string `json:"circuit"`
	Failures int    `json:"failures"`
	InFlight int    `json:"inFlight"` // messages

	manifest flowManifest
	fault    string
}

func (e *endpoint) standing() PushEndpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return PushEndpoint{
		Endpoint: e.base.String(), Healthy: e.known && e.circuit.state == circuitClosed, Circuit: string(e.circuit.state), Failures: e.circuit.failures,
		InFlight: e.flying, manifest: e.manifest, fault: e.fault,
	}
}
