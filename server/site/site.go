// Package site makes a web site of the documentation: the pages of docs/ as HTML, with navigation,
// search, and the look of the web UI. The server serves it at /docs/, offline. make docs writes it
// as files for any web server.
//
// The first request renders the Markdown with goldmark. So the repository has no built files, and a
// server always serves its own version's pages.
package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/docs"
)

// Base is the path of the site on the server.
const Base = "/docs/"

// consolePath is where the server has the web UI, to which its site links.
const consolePath = "/ui/"

// notFound is the page that stands for all that are not there.
const notFound = "404.html"

// served is the site as the server has it: made once, at the first request.
var served = sync.OnceValue(func() map[string]file {
	files, err := build(docs.Files, consolePath, commands)
	if err != nil {
		panic(fmt.Errorf("the documentation: %w", err)) // it is part of the program
	}
	return files
})

// commandPage is the page that the reference of the commands follows.
const commandPage = "cli.md"

// commands writes that reference; nil: the program that carries the site has none.
var commands func() string

// RegisterCommands adds the reference of a program's commands to the page of the command line, as Markdown. Call it from
// an init function: the site is made at the first request.
func RegisterCommands(reference func() string) { commands = reference }

// file is one of the site, as it is answered.
type file struct {
	body        []byte
	media, etag string
}

func newFile(name string, body []byte) file {
	sum := sha256.Sum256(body)
	f := file{body: body, media: media[path.Ext(name)], etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	if f.media == "" {
		f.media = mime.TypeByExtension(path.Ext(name))
	}
	return f
}

// media are the types of what browsers are to show, whatever the machine's own table says.
var media = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".json": "application/json",
	".md": "text/markdown; charset=utf-8", ".tsv": "text/tab-separated-values; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
}

// Handler serves the site below [Base]. Browsers may cache answers, and must revalidate them.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, Base)
		if name == "" {
			name = "index.html"
		}
		f, ok := served()[name]
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		if !ok {
			f = served()[notFound]
			h.Set("Content-Type", f.media)
			w.WriteHeader(http.StatusNotFound)
			if r.Method != http.MethodHead {
				_, _ = w.Write(f.body) // a client that is gone is not told
			}
			return
		}
		h.Set("Content-Type", f.media)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", f.etag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
	})
}

// policy is that of the web UI: a page loads what this server has, and runs nothing that stands in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// Files returns the files of the site by path, with slashes. They work on any web server, below any
// path.
func Files() (map[string][]byte, error) {
	files, err := build(docs.Files, "", commands)
	all := map[string][]byte{}
	for name, f := range files {
		if name != notFound { // it must know where it is
			all[name] = f.body
		}
	}
	return all, err
}

// build makes all files of the site of those of the documentation. console is where the web UI is; "": nowhere. commands
// writes the reference of commands; nil: there is none.
func build(from fs.FS, console string, commands func() string) (map[string]file, error) {
	s := &site{pages: map[string]*page{}, console: console}
	to := map[string]file{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if name == commandPage && commands != nil {
			text = slices.Concat(text, []byte("\n"+commands()))
		}
		if path.Ext(name) == ".md" {
			with, err := withData(from, name, text)
			if err != nil {
				return err
			}
			s.pages[name] = newPage(name, with)
		}
		to[name] = newFile(name, text) // the source of a page, too: llms.txt names it
		return nil
	})
	if err == nil {
		err = s.order()
	}
	if err != nil {
		return nil, err
	}
	for _, p := range s.pages {
		body, err := s.render(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.path, err)
		}
		to[p.href] = newFile(p.href, body)
	}
	return to, s.more(to)
}
