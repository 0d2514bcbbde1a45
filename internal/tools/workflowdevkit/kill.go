package main

// The suite's workflows, while the server is killed between calls and messages are delivered twice.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// workflows are what is run: a file of the suite, a workflow of it, its arguments, and what else is done to it.
var workflows = []struct {
	file, name, args string
	hook             bool
}{
	{"addition", "addition", `[1,2]`, false},
	{"null-byte", "nullByteWorkflow", `[]`, false},
	{"inline-execution", "sequentialStepsWorkflow", `[]`, false},
	{"inline-execution", "sequentialStepsWithStreamWorkflow", `[]`, false},
	{"inline-execution", "parallelStepsWorkflow", `[]`, false},
	{"inline-execution", "sleepWorkflow", `[]`, false},
	{"hooks", "collectWithHook", `["TOKEN","custom"]`, true},
	{"retriable-and-fatal", "retryableAndFatalErrorWorkflow", `[]`, false},
	{"signal-cost", "signalCostWorkflow", `[{"count":5,"withSignal":true}]`, false},
	{"lineage", "chainRoot", `[]`, false},
}

// door stands between the app and the server, and counts calls that write.
type door struct {
	mu     sync.Mutex
	server *server
	calls  int
	at     int    // the server is killed at this call; 0: never
	after  bool   // behind the call, whose answer is lost; else before it
	twice  bool   // each message is delivered twice
	app    string // where the flow route of the app is
	failed error
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	call := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	receives := call == "queue.receive"
	writes := call == "events.create" || call == "events.batch" || call == "streams.write" || call == "queue.send" || call == "queue.settle"
	d.mu.Lock()
	if writes {
		d.calls++
	}
	mine := writes && d.at > 0 && d.calls == d.at
	if mine && !d.after {
		d.restart()
	}
	d.mu.Unlock()
	req, err := http.NewRequestWithContext(r.Context(), r.Method, d.server.url()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler) // the app sees the connection break off
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if mine && d.after {
		d.mu.Lock()
		d.restart()
		d.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if receives && d.twice && res.StatusCode == http.StatusOK {
		d.double(text)
	}
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(text)
}

// set says what is to happen to the calls from now on.
func (d *door) set(at int, after, twice bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.at, d.after, d.twice = 0, at, after, twice
}

// restart kills the server and starts it again.
func (d *door) restart() {
	d.server.kill()
	d.failed = errors.Join(d.failed, d.server.start())
}

// double delivers each message once more, past the client, which knows those that it has: as if another app had got it.
func (d *door) double(text []byte) {
	var all []struct {
		QueueName, MessageID string
		Attempt              int
		Message              json.RawMessage
		Headers              map[string]string
	}
	_ = json.Unmarshal(text, &all) // where it is none there is nothing to deliver
	for _, m := range all {
		req, err := http.NewRequest("POST", d.app+"/.well-known/workflow/v1/flow", bytes.NewReader(m.Message))
		if err != nil {
			continue
		}
		for k, v := range m.Headers {
			req.Header.Set(k, v)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Vqs-Queue-Name", m.QueueName)
		req.Header.Set("X-Vqs-Message-Id", m.MessageID)
		req.Header.Set("X-Vqs-Message-Attempt", strconv.Itoa(m.Attempt))
		go func() {
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		}()
	}
}

// app is a program of node that has a flow route.
type app struct {
	cmd  *exec.Cmd
	at   string
	logs string
}

// startApp starts the suite's app.
func startApp(dir, data, world string) (*app, error) {
	return startNode(dir, filepath.Join(data, "app.log"), "background tasks started", "node_modules/@workflow/world-testing/dist/src/server.mjs",
		onStepwell(world)...)
}

// onStepwell has an app's runs kept by the Stepwell at a URL.
func onStepwell(url string) []string {
	return []string{"WORKFLOW_TARGET_WORLD=@stepwell/world", "STEPWELL_URL=" + url, "STEPWELL_API_KEY=" + workerKey}
}

// startNode starts an app, and waits until it has said that it is ready.
func startNode(dir, logs, ready, script string, env ...string) (*app, error) {
	a := &app{logs: logs}
	log, err := os.OpenFile(a.logs, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	if a.at, err = freeAddress(); err != nil {
		return nil, err
	}
	polyfill, err := filepath.Abs("bin/.workflow-devkit/polyfill.mjs")
	if err != nil {
		return nil, err
	}
	a.cmd = exec.Command("node", "--import", polyfill, script)
	a.cmd.Dir = dir
	a.cmd.Env = append(append(os.Environ(), env...), "PORT="+a.at[strings.LastIndexByte(a.at, ':')+1:])
	a.cmd.Stderr = log
	out, err := a.cmd.StdoutPipe()
	if err == nil {
		err = a.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return a, nil
		}
	}
	a.stop()
	text, _ := os.ReadFile(a.logs)
	return nil, fmt.Errorf("the app did not begin: %s", text)
}

func (a *app) stop() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
}

func (a *app) url() string { return "http://localhost" + a.at[strings.LastIndexByte(a.at, ':'):] }

func (a *app) call(method, path, body string, into any) error {
	return a.within(5*time.Minute, method, path, body, into)
}

// within makes a call that may take so long.
func (a *app) within(most time.Duration, method, path, body string, into any) error {
	ctx, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, a.url()+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: HTTP %d: %s", path, res.StatusCode, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// outcome is how a run ended: what must be the same whatever happens to the server.
type outcome struct {
	status, output string
	steps          map[string]int // completed steps, by ID; each once
}

// do runs a workflow to its end.
func (a *app) do(i int, token string) (out outcome, err error) {
	wf := &workflows[i]
	args := strings.ReplaceAll(wf.args, "TOKEN", token)
	var begun struct{ RunID string }
	invoke := fmt.Sprintf(`{"file":"workflows/%s.ts","workflow":%q,"args":%s}`, wf.file, wf.name, args)
	if err := a.call("POST", "/invoke", invoke, &begun); err != nil {
		return out, err
	}
	for sent, end := 0, time.Now().Add(90*time.Second); ; time.Sleep(20 * time.Millisecond) {
		if wf.hook && sent < 3 {
			payload := fmt.Sprintf(`{"data":"payload %d","done":%t}`, sent, sent == 2)
			if a.call("POST", "/hooks/"+token, payload, &struct{}{}) == nil {
				sent++
			}
		}
		var run struct {
			Status string
			Output struct{ Data string }
		}
		if err := a.call("GET", "/runs/"+begun.RunID, "", &run); err != nil {
			return out, err
		}
		out.status, out.output = run.Status, run.Output.Data
		if run.Status != "pending" && run.Status != "running" {
			break
		}
		if time.Now().After(end) {
			return out, fmt.Errorf("run %s of %s is %s after 90 s", begun.RunID, wf.name, run.Status)
		}
	}
	var log struct {
		Events []struct{ EventType, CorrelationID string }
	}
	if err := a.call("GET", "/runs/"+begun.RunID+"/events", "", &log); err != nil {
		return out, err
	}
	out.steps = map[string]int{}
	for _, e := range log.Events {
		if e.EventType == "step_completed" || e.EventType == "step_failed" {
			if out.steps[e.CorrelationID]++; out.steps[e.CorrelationID] > 1 {
				return out, fmt.Errorf("run %s of %s: step %s ended twice", begun.RunID, wf.name, e.CorrelationID)
			}
		}
	}
	return out, nil
}

// victim is a workflow that is run while the server is killed.
type victim struct {
	name   string
	steady bool // it always has the same output: others tell times and IDs
	do     func(a *app, token string, twice bool) (outcome, error)
}

// victims are the suite's workflows, or with -newest workflows of the shapes.
func victims() (all []victim) {
	if *shaped {
		for i := range shapes {
			if s := &shapes[i]; s.killed {
				all = append(all, victim{s.title, false, func(a *app, _ string, twice bool) (outcome, error) {
					as := *s
					as.repeats = twice
					return outcome{status: "completed"}, as.doDense(a, 2*time.Minute)
				}})
			}
		}
		return all
	}
	for i := range workflows {
		all = append(all, victim{workflows[i].name, steady(i), func(a *app, token string, _ bool) (outcome, error) {
			return a.do(i, token)
		}})
	}
	return all
}

// kill runs each workflow as often as it makes calls, and kills the server at each of them; then again with each
// message delivered twice.
func kill(dir, data, which string, s *server) error {
	chance := rand.New(rand.NewPCG(*seed, 1))
	fmt.Printf("%s: -seed %d\n", which, *seed)
	d := &door{server: s}
	front := httptest.NewServer(d)
	defer front.Close()
	begin := startApp
	if *shaped {
		begin = startShapes
	}
	a, err := begin(dir, data, front.URL)
	if err != nil {
		return err
	}
	defer a.stop()
	d.app = a.url()
	kills, n := 0, 0
	for _, v := range victims() {
		if !strings.Contains(v.name, *only) {
			continue
		}
		began := time.Now()
		d.set(0, false, false)
		want, err := v.do(a, fmt.Sprintf("%s-%d", which, n), false)
		if n++; err != nil || want.status != "completed" {
			return fmt.Errorf("%s on %s, undisturbed: %s: %w", v.name, which, want.status, err)
		}
		d.mu.Lock()
		calls := d.calls
		d.mu.Unlock()
		for _, twice := range []bool{false, true} {
			for at := 1; at <= calls; at++ {
				if chance.IntN(*share) > 0 {
					continue
				}
				after := chance.IntN(2) == 0
				d.set(at, after, twice)
				got, err := v.do(a, fmt.Sprintf("%s-%d", which, n), twice)
				if n++; err != nil || got.status != want.status || len(got.steps) != len(want.steps) || v.steady && got.output != want.output {
					log, _ := os.ReadFile(a.logs)
					return fmt.Errorf("%s on %s, killed at call %d of %d (behind it: %t; messages twice: %t): %s %s with %d steps, "+
						"want %s %s with %d: %w\n%s", v.name, which, at, calls, after, twice, got.status, got.output,
						len(got.steps), want.status, want.output, len(want.steps), err, log)
				}
				kills++
			}
		}
		fmt.Printf("%s: %s: %d calls, %s\n", which, v.name, calls, time.Since(began).Round(time.Second))
		d.mu.Lock()
		failed := d.failed
		d.mu.Unlock()
		if failed != nil {
			return failed
		}
	}
	fmt.Printf("Workflow DevKit on %s: the server was killed %d times, and every run ended right\n", which, kills)
	return nil
}

// steady reports whether a workflow always has the same output: others tell times and IDs.
func steady(i int) bool {
	switch workflows[i].name {
	case "addition", "nullByteWorkflow", "sequentialStepsWorkflow", "parallelStepsWorkflow":
		return true
	}
	return false
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
