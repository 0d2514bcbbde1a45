package docs_test

// Tests that the documentation names must exist: a promise without its test is found here.

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	named   = regexp.MustCompile("`(Test[A-Z0-9]\\w*)`")
	defined = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	exist := tests(t)
	n := 0
	for _, page := range pages(t) {
		for _, m := range named.FindAllStringSubmatch(read(t, page), -1) {
			n++
			if !exist[m[1]] {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no page names a test")
	}
}

// tests are the names of all tests of the repository.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	exist := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"): // other tests write there meanwhile
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range defined.FindAllStringSubmatch(string(text), -1) {
			exist[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return exist
}
