package main

// This file runs the package where there is no Node: in Deno, Bun, the edge's workerd, and a browser.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runtimes tries each, and says which are not to be had.
func runtimes(b *build, s *stage) error {
	dir := filepath.Join(b.dir, "runtimes")
	if err := packages("clients/typescript/test", dir); errors.Is(err, errFetch) {
		fmt.Println("NOT TESTED: the TypeScript client outside of Node:", err)
		return nil
	} else if err != nil {
		return err
	}
	programs := filepath.Join(dir, "node_modules")
	chromium := ""
	for _, name := range []string{os.Getenv("STEPWELL_TEST_BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = path
		}
	}
	for _, r := range []struct {
		name, program string
		run           func(ctx context.Context, b *build, s *stage, program string) (string, error)
	}{
		{"Deno", programs + "/@deno/linux-x64-glibc/deno", cli("run", "--allow-net", "--allow-env", "cli.mjs")},
		{"Bun", programs + "/@oven/bun-linux-x64/bin/bun", cli("run", "cli.mjs")},
		{"workerd", programs + "/@cloudflare/workerd-linux-64/bin/workerd", edge},
		{"Chromium", chromium, browse},
	} {
		if _, err := os.Stat(r.program); err != nil {
			fmt.Println("NOT TESTED: the TypeScript client in", r.name)
			continue
		}
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
		said, err := r.run(ctx, b, s, r.program)
		stop()
		if err != nil || strings.TrimSpace(said) != "well" {
			err = errors.Join(err, errors.New("it does not do what it does in Node"))
			return fmt.Errorf("the TypeScript client in %s: %w\n%s", r.name, err, said)
		}
		fmt.Println("the TypeScript client in " + r.name + ": well")
	}
	return nil
}

// cli runs a program that is given to a runtime.
func cli(args ...string) func(ctx context.Context, b *build, s *stage, program string) (string, error) {
	return func(ctx context.Context, b *build, s *stage, program string) (string, error) {
		_ = os.Chmod(program, 0o755) //nolint:gosec // it is a program
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir, cmd.Env = b.app(), append(os.Environ(), s.env()...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// edge runs a worker of workerd, and asks it.
func edge(ctx context.Context, b *build, s *stage, program string) (string, error) {
	at, err := freeAddress()
	if err != nil {
		return "", err
	}
	var modules strings.Builder
	files, err := filepath.Glob(filepath.Join(b.source(), "dist", "*.js"))
	if err != nil {
		return "", err
	}
	for _, f := range files {
		const one = "    (name = \"client/%s\", esModule = embed \"node_modules/@stepwell/client/dist/%[1]s\"),\n"
		fmt.Fprintf(&modules, one, filepath.Base(f))
	}
	config := fmt.Sprintf(`using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .smoke), (name = "internet", network = (allow = ["public", "private"]))],
  sockets = [(name = "http", address = "%s", http = (), service = "main")],
);
const smoke :Workerd.Worker = (
  compatibilityDate = "2025-06-01",
  modules = [
    (name = "edge.mjs", esModule = embed "edge.mjs"),
    (name = "smoke.mjs", esModule = embed "smoke.mjs"),
%s  ],
  bindings = [(name = "url", text = "http://%s"), (name = "apiKey", text = "%s")],
);
`, at, modules.String(), s.at, operatorKey)
	if err := os.WriteFile(filepath.Join(b.app(), "edge.capnp"), []byte(config), 0o600); err != nil {
		return "", err
	}
	_ = os.Chmod(program, 0o755) //nolint:gosec // it is a program
	cmd := exec.CommandContext(ctx, program, "serve", "edge.capnp")
	var out strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.app(), &out, &out
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var res *http.Response
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at, nil)
		if err != nil {
			return "", err
		}
		if res, err = http.DefaultClient.Do(req); err == nil {
			break
		}
		if ctx.Err() != nil {
			end(cmd)
			return out.String(), err
		}
		time.Sleep(20 * time.Millisecond) // it does not listen yet
	}
	said, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	end(cmd)
	return string(said) + out.String(), err
}

// browse opens a page that has the server below its own origin.
func browse(ctx context.Context, b *build, s *stage, program string) (string, error) {
	said := make(chan string, 1)
	mux := http.NewServeMux()
	client := http.Dir(filepath.Join(b.app(), "node_modules/@stepwell/client/dist"))
	mux.Handle("/client/", http.StripPrefix("/client/", http.FileServer(client)))
	mux.Handle("/page.html", http.FileServer(http.Dir(b.app())))
	mux.Handle("/smoke.mjs", http.FileServer(http.Dir(b.app())))
	mux.Handle("/v1/", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: s.at})
			r.Out.Host = r.In.Host // of the page
		},
		ErrorLog: log.New(io.Discard, "", 0), // the page ends requests on purpose
	})
	mux.HandleFunc("/done", func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		said <- string(text)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // until it is closed
	defer func() { _ = server.Close() }()
	data, err := os.MkdirTemp("", "clienttypescript")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(data) }()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+data, "http://"+l.Addr().String()+"/page.html#"+operatorKey)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer end(cmd)
	select {
	case text := <-said:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
