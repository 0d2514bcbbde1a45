package release

// What `make release-check` made: every archive, package and list is opened. The test is run by it alone, as making it all takes minutes.

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sassoftware/go-rpmutils"
)

var dist = flag.String("dist", "", "the `directory` that goreleaser made, with the image in it")

// artifact is one that goreleaser made.
type artifact struct {
	Name, Path, Type, Goos, Goarch string
}

// shipped are the programs of a release.
var shipped = append([]helper{{name: "stepwell", module: "modernc.org/sqlite"}}, helpers...)

// platforms are those of a release.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

func TestDist(t *testing.T) {
	if *dist == "" {
		t.Fatal("give -dist, as make release-check does")
	}
	var meta struct{ Version, Commit, Date string }
	decode(t, filepath.Join(*dist, "metadata.json"), &meta)
	var all []artifact
	decode(t, filepath.Join(*dist, "artifacts.json"), &all)
	byType := map[string][]artifact{}
	for _, a := range all {
		a.Path = filepath.Join(*dist, strings.TrimPrefix(filepath.ToSlash(a.Path), "dist/"))
		byType[a.Type] = append(byType[a.Type], a)
	}
	built := map[string]map[string]string{} // paths of programs, by names and platforms
	for _, p := range shipped {
		built[p.name] = map[string]string{}
	}
	for _, a := range byType["Binary"] {
		i := slices.IndexFunc(shipped, func(h helper) bool { return h.name == strings.TrimSuffix(a.Name, ".exe") })
		if i < 0 {
			t.Fatalf("got the program %s", a.Name)
		}
		built[shipped[i].name][a.Goos+"/"+a.Goarch] = a.Path
		if a.Goos == "linux" {
			static(t, a.Path, shipped[i].module)
		}
	}
	for name, of := range built {
		if got := slices.Sorted(maps.Keys(of)); !slices.Equal(got, platforms) {
			t.Fatalf("got %s for %v, want %v", name, got, platforms)
		}
	}
	programs := built["stepwell"]
	date := commitDate(t, meta.Commit)
	is := said{Version: "v" + meta.Version, Commit: meta.Commit, Date: date, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if got := versionOf(t, programs[is.Platform]); got != is {
		t.Errorf("got %+v, want %+v", got, is)
	}
	archives(t, byType["Archive"], built)
	packages(t, byType["Linux Package"], built, meta.Version)
	sboms(t, byType["SBOM"])
	formula(t, byType["Homebrew Formula"], byType["Archive"], meta.Version)
	sums(t, byType)
	made := min(changed(t, programs["linux/amd64"]), changed(t, programs["linux/arm64"]))
	if meta.Commit != none && made != date {
		t.Errorf("the programs have the date %s, want the commit's, %s", made, date)
	}
	checkImage(t, filepath.Join(*dist, "image"), made, is, map[string]string{"linux/amd64": programs["linux/amd64"], "linux/arm64": programs["linux/arm64"]})
}

func decode(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// none is goreleaser's word for the commit where the repository has no remote, as in a rehearsal.
const none = "none"

func commitDate(t *testing.T, commit string) string {
	t.Helper()
	if commit == none {
		t.Log("the repository has no remote: goreleaser does not say its commit")
		return time.Time{}.Format(time.RFC3339)
	}
	cmd := exec.CommandContext(t.Context(), "git", "show", "-s", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", commit)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func changed(t *testing.T, path string) string {
	t.Helper()
	is, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return is.ModTime().UTC().Format(time.RFC3339)
}

func sum(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	is := sha256.Sum256(content)
	return hex.EncodeToString(is[:])
}

func sumOf(content []byte) string {
	is := sha256.Sum256(content)
	return hex.EncodeToString(is[:])
}

// archives have the programs, and what they come with.
func archives(t *testing.T, all []artifact, built map[string]map[string]string) {
	if len(all) != len(platforms) {
		t.Errorf("got %d archives, want %d", len(all), len(platforms))
	}
	for _, a := range all {
		exe, files := "", map[string][]byte{}
		if a.Goos == "windows" {
			exe, files = ".exe", unzip(t, a.Path)
		} else {
			f, err := os.Open(a.Path)
			if err != nil {
				t.Fatal(err)
			}
			files = untar(t, a.Name, f)
			_ = f.Close()
		}
		want := []string{"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"}
		for name, of := range built {
			want = append(want, name+exe)
			if sumOf(files[name+exe]) != sum(t, of[a.Goos+"/"+a.Goarch]) {
				t.Errorf("%s: %s is another than that of its platform", a.Name, name)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", a.Name, got, want)
		}
	}
}

func unzip(t *testing.T, path string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// untar reads a compressed tar, and looks whether the programs may be run.
func untar(t *testing.T, name string, packed io.Reader) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		path := strings.TrimPrefix(strings.TrimPrefix(h.Name, "."), "/")
		if files[path], err = io.ReadAll(r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if slices.ContainsFunc(shipped, func(p helper) bool { return p.name == filepath.Base(path) }) && h.FileInfo().Mode().Perm() != 0o755 {
			t.Errorf("%s: %s has the mode %v", name, path, h.FileInfo().Mode())
		}
	}
}

// packages are those of Linux: the programs in /usr/bin, its licence, and the server's unit.
func packages(t *testing.T, all []artifact, built map[string]map[string]string, version string) {
	want := []string{"usr/lib/systemd/system/stepwell-server.service", "usr/share/doc/stepwell/copyright"}
	for name := range built {
		want = append(want, "usr/bin/"+name)
	}
	slices.Sort(want)
	kinds := map[string]bool{}
	for _, a := range all {
		kinds[filepath.Ext(a.Name)+" "+a.Goarch] = true
		f, err := os.Open(a.Path)
		if err != nil {
			t.Fatal(err)
		}
		var files map[string][]byte
		var says string
		if strings.HasSuffix(a.Name, ".deb") {
			parts := ar(t, a.Name, f)
			files = untar(t, a.Name, bytes.NewReader(parts["data.tar.gz"]))
			says = string(untar(t, a.Name, bytes.NewReader(parts["control.tar.gz"]))["control"])
		} else {
			files, says = rpm(t, a.Name, f)
		}
		_ = f.Close()
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", a.Name, got, want)
		}
		for name, of := range built {
			if sumOf(files["usr/bin/"+name]) != sum(t, of["linux/"+a.Goarch]) {
				t.Errorf("%s: %s is another than that of its platform", a.Name, name)
			}
		}
		if number, _, _ := strings.Cut(version, "-"); !strings.Contains(says, "Version: "+number) {
			t.Errorf("%s: it says\n%s\nwant version %s", a.Name, says, version)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("got packages for %v, want deb and rpm for both processors", kinds)
	}
}

// ar has the parts of a Debian package.
func ar(t *testing.T, name string, packed io.Reader) map[string][]byte {
	t.Helper()
	in := bufio.NewReader(packed)
	if magic, err := in.ReadString('\n'); err != nil || magic != "!<arch>\n" {
		t.Fatalf("%s: it begins with %q, %v", name, magic, err)
	}
	parts := map[string][]byte{}
	for {
		head := make([]byte, 60)
		if _, err := io.ReadFull(in, head); errors.Is(err, io.EOF) {
			return parts
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size, err := strconv.Atoi(strings.TrimSpace(string(head[48:58])))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body := make([]byte, size+size%2)
		if _, err := io.ReadFull(in, body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		parts[strings.TrimRight(string(head[:16]), " /")] = body[:size]
	}
}

func rpm(t *testing.T, name string, packed io.Reader) (files map[string][]byte, says string) {
	t.Helper()
	r, err := rpmutils.ReadRpm(packed)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	is, err := r.Header.GetNEVRA()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	payload, err := r.PayloadReaderExtended()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	files = map[string][]byte{}
	for {
		f, err := payload.Next()
		if errors.Is(err, io.EOF) {
			return files, fmt.Sprintf("Name: %s\nVersion: %s\n", is.Name, is.Version)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Mode()&0o170000 == 0o040000 {
			continue
		}
		if files[strings.TrimPrefix(f.Name(), "/")], err = io.ReadAll(payload); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// sboms name the modules of each program.
func sboms(t *testing.T, all []artifact) {
	if want := len(shipped) * len(platforms); len(all) != want {
		t.Errorf("got %d lists of modules, want %d", len(all), want)
	}
	for _, a := range all {
		var list struct {
			BomFormat  string
			Components []struct{ Name, Version, PURL string }
		}
		decode(t, a.Path, &list)
		has := func(name string) bool {
			return slices.ContainsFunc(list.Components, func(c struct{ Name, Version, PURL string }) bool {
				return c.Name == name && strings.HasPrefix(c.PURL, "pkg:golang/") && c.Version != ""
			})
		}
		name, _, _ := strings.Cut(a.Name, "_")
		linked := name != "stepwell" || has("github.com/jackc/pgx/v5") && has(grpc)
		for _, p := range shipped {
			linked = linked && has(p.module) == (p.name == name)
		}
		if list.BomFormat != "CycloneDX" || !linked || has("github.com/chromedp/chromedp") {
			t.Errorf("%s: got %s with %d modules, want those that are linked", a.Name, list.BomFormat, len(list.Components))
		}
	}
}

// formula is Homebrew's: it names the archives of macOS and Linux with their sums.
func formula(t *testing.T, all, archives []artifact, version string) {
	if len(all) != 1 {
		t.Fatalf("got %d formulae, want one", len(all))
	}
	text, err := os.ReadFile(all[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range archives {
		if a.Goos == "windows" {
			continue
		}
		if !strings.Contains(string(text), a.Name) || !strings.Contains(string(text), sum(t, a.Path)) {
			t.Errorf("the formula does not name %s and its sum", a.Name)
		}
	}
	for _, p := range shipped {
		if !strings.Contains(string(text), `bin.install "`+p.name+`"`) {
			t.Errorf("the formula does not install %s", p.name)
		}
	}
	if !strings.Contains(string(text), `version "`+version+`"`) {
		t.Errorf("got the formula\n%s", text)
	}
}

// sums holds the list of sums to the files: each that is published is there.
func sums(t *testing.T, byType map[string][]artifact) {
	lists := byType["Checksum"]
	if len(lists) != 1 {
		t.Fatalf("got %d lists of sums, want one", len(lists))
	}
	text, err := os.ReadFile(lists[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			known[f[1]] = f[0]
		}
	}
	n := 0
	for _, kind := range []string{"Archive", "Linux Package", "SBOM"} {
		for _, a := range byType[kind] {
			n++
			if known[a.Name] != sum(t, a.Path) {
				t.Errorf("%s: the list of sums has %q, want %s", a.Name, known[a.Name], sum(t, a.Path))
			}
		}
	}
	if n != len(known) || n == 0 {
		t.Errorf("got %d sums for %d files", len(known), n)
	}
}
