package restate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// This file installs, starts and stops the server, and talks to its admin port.

// serverVersion is the release of the npm packages @restatedev/restate-server-*.
const serverVersion = "1.7.12"

// install returns the path of the server's program, installed from npm into the user's cache the first time.
func install(ctx context.Context) (string, error) {
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if cpu == "" || runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return "", fmt.Errorf("there is no server of Restate for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	name := "@restatedev/restate-server-" + runtime.GOOS + "-" + cpu
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for a place to install Restate's server: %w", err)
	}
	dir := filepath.Join(cache, "stepwell-bench", "restate-"+serverVersion)
	program := filepath.Join(dir, "node_modules", filepath.FromSlash(name), "bin", "restate-server")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("installing Restate's server: %w", err)
	}
	npm := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", name+"@"+serverVersion)
	if said, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("installing Restate's server by npm into %s: %w: %.2000s", dir, err, said)
	}
	return program, nil
}

// serve starts the server and waits until it takes deployments.
func (p *peer) serve(ctx context.Context, program, dir string) error {
	ports, err := free(3)
	if err != nil {
		return err
	}
	p.ingress, p.admin = fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	settings := filepath.Join(dir, "restate.toml")
	text := fmt.Sprintf(`node-name = "bench"
base-dir = %q
bind-ip = "127.0.0.1"
advertised-host = "127.0.0.1"
bind-port = %d
listen-mode = "tcp"
log-filter = "error"
disable-telemetry = true
[admin]
bind-port = %d
[ingress]
bind-port = %d
`, filepath.Join(dir, "restate"), ports[2], ports[1], ports[0])
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing the settings of Restate: %w", err)
	}
	said, err := os.Create(filepath.Join(dir, "restate.log"))
	if err != nil {
		return err
	}
	defer said.Close() // the server has its own handle
	server := exec.Command(program, "--config-file", settings, "--no-logo")
	server.Stdout, server.Stderr = said, said
	orphan(server)
	if err := server.Start(); err != nil {
		return fmt.Errorf("starting Restate's server: %w", err)
	}
	p.server = server
	go func() { p.gone <- server.Wait() }()
	for {
		if err = p.healthy(ctx); err == nil {
			return nil
		}
		select {
		case end := <-p.gone:
			p.gone <- end
			text, _ := os.ReadFile(said.Name())
			return fmt.Errorf("the server of Restate ended before it could be reached (%v): %.2000s", end, text)
		case <-ctx.Done():
			return fmt.Errorf("waiting for Restate's server: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// healthy asks the admin port and the ingress whether they are.
func (p *peer) healthy(ctx context.Context) error {
	for _, url := range []string{p.admin + "/health", p.ingress + "/restate/health"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if err := p.do(request, nil); err != nil {
			return err
		}
	}
	return nil
}

// stop asks the server to end, and kills it if it does not.
func (p *peer) stop(ctx context.Context) error {
	err := p.server.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	select {
	case <-p.gone: // how it ended does not matter to anybody
		return err
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	err = errors.Join(err, p.server.Process.Kill())
	<-p.gone
	return err
}

// ask posts a question as JSON and reads the answer into it, if that is not nil.
func (p *peer) ask(ctx context.Context, url string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	return p.do(request, answer)
}

// do makes a request.
func (p *peer) do(request *http.Request, answer any) error {
	response, err := p.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking Restate: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("asking Restate at %s: %w", request.URL, err)
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("asking Restate at %s: %s: %.2000s", request.URL, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("reading what Restate said at %s: %w", request.URL, err)
	}
	return nil
}

// free returns ports of the loopback that nobody listens on.
func free(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for ports for Restate: %w", err)
		}
		defer l.Close() // when all are known, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
