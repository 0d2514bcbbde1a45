package compare

// This file says where and with what was measured.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/bench/engine"
)

// about is the first JSON line.
type about struct {
	Date     string            `json:"date"`
	Commit   string            `json:"commit"` // of Stepwell
	Machine  string            `json:"machine"`
	Disk     string            `json:"disk"`
	Go       string            `json:"go"`
	Load     string            `json:"load"` // before: what else the machine did
	Postgres string            `json:"postgres,omitempty"`
	Options  string            `json:"options"`
	Engines  map[string]string `json:"engines"`  // versions
	Settings map[string]string `json:"settings"` // by engine
}

func (m *measurer) about(ctx context.Context) (*about, error) {
	a := &about{
		Date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Commit: commit(), Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Machine: fmt.Sprintf("%d cores (%s), %s of memory, Linux %s", runtime.NumCPU(), after("/proc/cpuinfo", "model name"), memory(), strings.TrimSpace(content("/proc/sys/kernel/osrelease"))),
		Disk:    filesystem(m.dir), Load: strings.Join(strings.Fields(content("/proc/loadavg"))[:min(3, len(strings.Fields(content("/proc/loadavg"))))], " "),
		Options: fmt.Sprintf("%d rounds, %s each, at most %s, sizes × %g, clients %s", m.rounds, m.time, m.limit, m.scale, join(m.clients)),
		Engines: map[string]string{}, Settings: map[string]string{},
	}
	if strings.Contains(a.Disk, "tmpfs") {
		a.Disk += ": **in memory, a sync costs nothing here**"
	}
	for _, k := range m.makers {
		if !m.engine(k.Name) {
			continue
		}
		a.Engines[k.Name] = k.Version
		if k.Name == "stepwell" {
			a.Engines[k.Name] = a.Commit
		}
		a.Settings[k.Name] = settings(k)
	}
	for name, why := range m.missing {
		a.Engines[name], a.Settings[name] = "not measured", cut(why)
	}
	if m.server == nil {
		return a, nil
	}
	url, err := m.server.Create(ctx, "settings")
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	a.Postgres, err = serverSettings(ctx, conn)
	return a, err
}

func settings(m *engine.Maker) string {
	var all []string
	for name, value := range m.Settings {
		all = append(all, name+": "+value)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func serverSettings(ctx context.Context, conn *pgx.Conn) (string, error) {
	var all []string
	for _, name := range []string{"server_version", "fsync", "synchronous_commit", "wal_sync_method", "full_page_writes", "shared_buffers", "max_wal_size", "checkpoint_timeout", "autovacuum", "max_connections"} {
		var value string
		if err := conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return "", err
		}
		all = append(all, name+" = "+value)
	}
	return strings.Join(all, ", "), nil
}

// commit is Stepwell's, with a + where files are not committed.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func content(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// after is what stands behind a name and a colon in a file.
func after(path, name string) string {
	for l := range strings.Lines(content(path)) {
		if rest, ok := strings.CutPrefix(l, name); ok {
			return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), ":"))
		}
	}
	return "unknown"
}

func memory() string {
	var kib int64
	if _, err := fmt.Sscan(after("/proc/meminfo", "MemTotal"), &kib); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
}

// filesystem is the kind and device of what a folder is on.
func filesystem(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "unknown"
	}
	best, what := "", "unknown"
	for l := range strings.Lines(content("/proc/mounts")) {
		f := strings.Fields(l)
		if len(f) < 3 || len(f[1]) < len(best) || f[1] != "/" && dir != f[1] && !strings.HasPrefix(dir, f[1]+"/") {
			continue
		}
		best, what = f[1], f[2]+" on "+f[0]
	}
	return what
}

func join(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}
