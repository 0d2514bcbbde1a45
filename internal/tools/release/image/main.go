// Command image makes the image of a release: the command stepwell on an empty file system, without root and without a shell. It needs no container
// engine: an image is files.
//
//	image -version v1.2.3 -out image linux/amd64=a/stepwell linux/arm64=b/stepwell
//	image -dist dist -out dist/image                       of what goreleaser made
//	image -dist dist -push ghcr.io/stepwell/stepwell
//
// The layout that it writes is OCI's: skopeo, podman and crane read it. What it pushes it signs in for as docker does.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	nonroot = 65532 // as in distroless images
	source  = "https://github.com/stepwell/stepwell"
)

// release is what is said of an image.
type release struct {
	version, commit string
	made            time.Time
}

func main() {
	r := release{}
	flag.StringVar(&r.version, "version", "", "the version, which is the tag too")
	flag.StringVar(&r.commit, "commit", "", "the commit that it was built from")
	made := flag.String("date", "", "when that was made, RFC 3339")
	out := flag.String("out", "", "the directory to write the image into")
	dist := flag.String("dist", "", "the directory that goreleaser made, in the place of all that says what to take")
	push := flag.String("push", "", "the repository to push it to, such as ghcr.io/stepwell/stepwell")
	flag.Parse()
	if err := run(r, *made, *dist, *out, *push, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(r release, made, dist, out, push string, binaries []string) (err error) {
	if dist != "" {
		if r, binaries, err = taken(dist); err != nil {
			return err
		}
	}
	if r.version == "" || len(binaries) == 0 || (out == "") == (push == "") {
		return errors.New("give -version, either -out or -push, and PLATFORM=BINARY for each platform")
	}
	if made != "" {
		if r.made, err = time.Parse(time.RFC3339, made); err != nil {
			return fmt.Errorf("-date: %w", err)
		}
	}
	index, err := images(r, binaries)
	if err != nil {
		return err
	}
	if out != "" {
		_, err := layout.Write(out, index)
		return err
	}
	to, err := name.ParseReference(push + ":" + strings.TrimPrefix(r.version, "v"))
	if err != nil {
		return err
	}
	return remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// taken is what goreleaser made: its programs for Linux have the date of the commit.
func taken(dist string) (r release, binaries []string, err error) {
	var meta struct{ Version, Commit string }
	var all []struct{ Name, Path, Type, Goos, Goarch string }
	if err := errors.Join(decode(filepath.Join(dist, "metadata.json"), &meta), decode(filepath.Join(dist, "artifacts.json"), &all)); err != nil {
		return r, nil, err
	}
	r.version, r.commit = "v"+meta.Version, meta.Commit
	for _, a := range all {
		if a.Type != "Binary" || a.Name != "stepwell" || a.Goos != "linux" {
			continue
		}
		path := filepath.Join(dist, strings.TrimPrefix(filepath.ToSlash(a.Path), "dist/"))
		is, err := os.Stat(path)
		if err != nil {
			return r, nil, err
		}
		if at := is.ModTime().UTC().Truncate(time.Second); r.made.IsZero() || at.Before(r.made) { // without a remote they differ
			r.made = at
		}
		binaries = append(binaries, "linux/"+a.Goarch+"="+path)
	}
	return r, binaries, nil
}

func decode(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// images has an image for each platform.
func images(r release, binaries []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		on, path, ok := strings.Cut(b, "=")
		platform, err := v1.ParsePlatform(on)
		if !ok || err != nil || platform.OS != "linux" {
			return nil, fmt.Errorf("%q is not linux/ARCHITECTURE=BINARY", b)
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		image, err := r.image(program, *platform)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", on, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

func (r release) image(program []byte, on v1.Platform) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config := v1.ConfigFile{
		OS: on.OS, Architecture: on.Architecture, Variant: on.Variant, Created: v1.Time{Time: r.made}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%d", nonroot, nonroot),
			Env: []string{
				"PATH=/usr/local/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
				"STEPWELL_DB=sqlite:/data/stepwell.db", "STEPWELL_LISTEN=:7373", "STEPWELL_LOG_FORMAT=json",
			},
			Entrypoint:   []string{"/usr/local/bin/stepwell"},
			Cmd:          []string{"server"},
			ExposedPorts: map[string]struct{}{"7373/tcp": {}},
			Volumes:      map[string]struct{}{"/data": {}},
			WorkingDir:   "/data",
			Healthcheck: &v1.HealthConfig{
				Test:     []string{"CMD", "/usr/local/bin/stepwell", "health", "--timeout=3s"},
				Interval: 10 * time.Second, Timeout: 8 * time.Second, StartPeriod: 10 * time.Second, Retries: 3,
			},
			Labels: map[string]string{
				"org.opencontainers.image.title":    "stepwell",
				"org.opencontainers.image.source":   source,
				"org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version":  strings.TrimPrefix(r.version, "v"),
				"org.opencontainers.image.revision": r.commit,
			},
		},
	}
	image, err := mutate.ConfigFile(image, &config)
	if err != nil {
		return nil, err
	}
	// What changes with each release is the last layer.
	for _, files := range [][]file{system(), {{name: "usr/", mode: 0o755}, {name: "usr/local/", mode: 0o755}, {name: "usr/local/bin/", mode: 0o755}, {name: "usr/local/bin/stepwell", mode: 0o755, body: program}}} {
		content, err := archive(files, r.made)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
			tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		add := mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.made}, CreatedBy: "internal/tools/release/image"}}
		if image, err = mutate.Append(image, add); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// file is one of a layer; a name that ends in a slash is a directory.
type file struct {
	name  string
	mode  int64
	owner int
	body  []byte
}

// system is what the program needs beside itself: whom to trust, who it is, where files go. Time zones are in the program.
func system() []file {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
	}
	return []file{
		{name: "data/", mode: 0o755, owner: nonroot},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nonroot)},
		{name: "etc/passwd", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/data:/sbin/nologin\n", nonroot, nonroot)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, body: roots.Bytes()},
		{name: "tmp/", mode: 0o1777},
	}
}

// archive is a tar of files, the same for the same files.
func archive(files []file, made time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.body)), ModTime: made, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
