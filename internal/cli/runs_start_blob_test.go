package cli

// Starts whose input refers to files.

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestStartWithABlob(t *testing.T) {
	t.Parallel()
	path, file := filepath.Join(t.TempDir(), "app.db"), filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	url := "http://" + served(t, nil, "--db", path)
	for _, to := range []string{"--db " + path, "--server " + url} {
		id := "b-" + strings.Fields(to)[0][2:]
		code, out, errs := today(t, "", append(strings.Fields("runs start import {\"tenant\":\"acme\"} --id "+id+" --key "+id+" --blob rows="+file), strings.Fields(to)...)...)
		if code != exitOK {
			t.Fatalf("%s: exit code %d, %s %s", to, code, out, errs)
		}
		info, err := app.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var in struct {
			Tenant string
			Rows   blob.Ref
		}
		if err := json.Unmarshal(info.Input, &in); err != nil || in.Tenant != "acme" {
			t.Fatalf("the input is %s, %v", info.Input, err)
		}
		from, err := blob.Read(t.Context(), app, id, in.Rows)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil || string(text) != "a,b\n1,2\n" {
			t.Errorf("the blob is %q, %v", text, err)
		}
		code, out, _ = today(t, "", append([]string{"runs", "value", id, in.Rows.ID()}, strings.Fields(to)...)...)
		if code != exitOK || out != "a,b\n1,2\n" {
			t.Errorf("%s: runs value: exit code %d, %q", to, code, out)
		}
		// Repeated it is the same run, whatever ID there was.
		code, out, errs = today(t, "", append(strings.Fields("runs start import {} --key "+id+" --blob rows="+file), strings.Fields(to)...)...)
		if code != exitOK || !strings.Contains(out, "run "+id+" was already started") {
			t.Errorf("%s: once more: exit code %d, %s %s", to, code, out, errs)
		}
	}
	for args, want := range map[string]string{
		"runs start import {} --blob " + file:                  "name the member",
		"runs start import 7 --blob rows=" + file:              "the input is not an object, so it has no members",
		"runs start import {\"rows\":1} --blob rows=" + file:   "already has the member rows",
		"runs start import --blob rows=" + file + ".not":       "no such file",
		"runs start import --blob " + file + " --blob " + file: "name the member",
	} {
		if code, _, errs := today(t, "", append(strings.Fields(args), "--db", path)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %s; want %q", args, code, errs, want)
		}
	}
}
