package release

// The image, layer by layer, and the program run in it: no container engine is needed, as on Linux root may change the root of a process.

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// inImage are all the files that an image has, with who owns them and what they may.
var inImage = map[string]struct {
	owner int
	mode  int64
}{
	"data/":                             {65532, 0o755},
	"etc/":                              {0, 0o755},
	"etc/group":                         {0, 0o644},
	"etc/passwd":                        {0, 0o644},
	"etc/ssl/":                          {0, 0o755},
	"etc/ssl/certs/":                    {0, 0o755},
	"etc/ssl/certs/ca-certificates.crt": {0, 0o644},
	"tmp/":                              {0, 0o1777},
	"usr/":                              {0, 0o755},
	"usr/local/":                        {0, 0o755},
	"usr/local/bin/":                    {0, 0o755},
	"usr/local/bin/stepwell":            {0, 0o755},
}

// checkImage holds a layout to the programs that it was made of, by platform; made is its date.
func checkImage(t *testing.T, dir, made string, is said, programs map[string]string) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil { // digests and sizes
		t.Errorf("%s: %v", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platform := m.Platform.String()
		platforms = append(platforms, platform)
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkConfig(t, image, platform, made, is)
		files := filesOf(t, image)
		if diff := slices.Compare(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(inImage))); diff != 0 {
			t.Errorf("%s: got the files %v", platform, slices.Sorted(maps.Keys(files)))
		}
		program, err := os.ReadFile(programs[platform])
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(files["usr/local/bin/stepwell"]) != sha256.Sum256(program) {
			t.Errorf("%s: the program is another than %s", platform, programs[platform])
		}
		if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
			t.Errorf("%s: there are no certificates in it", platform)
		}
		if !strings.Contains(string(files["etc/passwd"]), "\nnonroot:x:65532:65532:") {
			t.Errorf("%s: got passwd %q", platform, files["etc/passwd"])
		}
		runIn(t, image, platform, files, is)
	}
	if slices.Sort(platforms); !slices.Equal(platforms, slices.Sorted(maps.Keys(programs))) {
		t.Errorf("got images for %v, want %v", platforms, slices.Sorted(maps.Keys(programs)))
	}
}

func checkConfig(t *testing.T, image v1.Image, platform, made string, is said) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/usr/local/bin/stepwell"}) || !slices.Equal(c.Cmd, []string{"server"}) {
		t.Errorf("%s: got user %q, entry %q, command %q", platform, c.User, c.Entrypoint, c.Cmd)
	}
	if config.OS+"/"+config.Architecture != platform || config.Created.UTC().Format(time.RFC3339) != made {
		t.Errorf("%s: it says that it is for %s/%s, of %s", platform, config.OS, config.Architecture, config.Created)
	}
	if got := c.Labels["org.opencontainers.image.version"]; "v"+got != is.Version || c.Labels["org.opencontainers.image.revision"] != is.Commit {
		t.Errorf("%s: got labels %v, want %+v", platform, c.Labels, is)
	}
	// What is built from source does the same.
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Env {
		if strings.HasPrefix(e, "STEPWELL_") && !strings.Contains(string(text), e) {
			t.Errorf("%s: deploy/Dockerfile does not say %s", platform, e)
		}
	}
	if _, ok := c.Volumes["/data"]; !ok || c.Healthcheck == nil || !strings.Contains(string(text), `"`+strings.Join(c.Healthcheck.Test[1:], `", "`)+`"`) {
		t.Errorf("%s: got volumes %v, health %+v, want those of deploy/Dockerfile", platform, c.Volumes, c.Healthcheck)
	}
}

// filesOf are the regular files of an image's layers, and its directories.
func filesOf(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(content); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := inImage[h.Name]; want.mode != h.Mode || want.owner != h.Uid || want.owner != h.Gid || h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir {
				t.Errorf("%s: got type %c, mode %o, owner %d:%d, want %+v", h.Name, h.Typeflag, h.Mode, h.Uid, h.Gid, want)
			}
			var body bytes.Buffer
			if _, err := io.Copy(&body, r); err != nil {
				t.Fatal(err)
			}
			files[h.Name] = body.Bytes()
		}
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
