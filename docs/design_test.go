package docs_test

// The page of the design names files and functions: they must be there, and each walk must name them where they are.

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeFile = regexp.MustCompile(`^[\w/]+\.(go|sql|golden)$`)
	codeFunc = regexp.MustCompile(`^(?:\(\*(\w+)\)\.)?(\w+)(\(\))?$`)
	funcs    = regexp.MustCompile(`(?m)^func (?:\(\w+ \*?(\w+)(?:\[[^\]]*\])?\) )?(\w+)[\[(]`)
)

// TestTheDesignNamesWhatThereIs: a file is named by its path; a method as `(*T).m` and a function as `f()`, in a walk
// behind the file that has it.
func TestTheDesignNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	has := functions(t)
	anywhere := map[string]bool{}
	for _, names := range has {
		for name := range names {
			anywhere[name] = true
		}
	}
	all, walks, _ := strings.Cut(read(t, "docs/design/README.md"), "\n## Walk: ")
	n := 0
	look := func(text string, known func(file, name string) bool) {
		file := ""
		for _, code := range inline.FindAllString(fence.ReplaceAllString(text, ""), -1) {
			code = strings.Trim(code, "`")
			if codeFile.MatchString(code) {
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(code))); err != nil {
					t.Errorf("the design names %s, which is not there", code)
				}
				file = code
				continue
			}
			m := codeFunc.FindStringSubmatch(code)
			if m == nil || m[1] == "" && m[3] == "" {
				continue
			}
			if n++; !known(file, m[1]+"."+m[2]) {
				t.Errorf("the design names %s, in %s: it is not there", code, file)
			}
		}
	}
	look(all, func(_, name string) bool { return anywhere[name] })
	look(walks, func(file, name string) bool { return has[file][name] })
	if n < 100 {
		t.Errorf("got %d functions, want those of the walks", n)
	}
}

// functions are all functions and methods outside of tests, by file: "T.m", ".f".
func functions(t *testing.T) map[string]map[string]bool {
	t.Helper()
	has := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bench"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		names := map[string]bool{}
		for _, m := range funcs.FindAllStringSubmatch(string(text), -1) {
			names[m[1]+"."+m[2]] = true
		}
		rel, err := filepath.Rel(root, path)
		has[filepath.ToSlash(rel)] = names
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return has
}
