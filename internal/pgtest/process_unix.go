//go:build unix

package pgtest

// This file holds the processes that are started here: as which user, how they are waited for, and the guard that ends them when the
// test binary dies.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// unprivileged is the user that servers run as, or nil where the tests do not run as root and it is their own.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("the tests run as root, and there is no user postgres or nobody that PostgreSQL could run as")
}

// handOver gives a file or folder to the user that servers run as.
func handOver(path string) error {
	c, err := unprivileged()
	if err != nil || c == nil {
		return err
	}
	return os.Chown(path, int(c.Uid), int(c.Gid))
}

// folder makes a temporary folder that the servers' user can reach and nobody else can read.
func folder(prefix string) (string, error) {
	parent := os.TempDir()
	if c, err := unprivileged(); err != nil {
		return "", err
	} else if c != nil && !passable(parent) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return dir, handOver(dir)
}

// passable reports whether everybody may pass through a folder and all above it.
func passable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// process is a program that was started here. No goroutine stands behind it. One goroutine at a time may use it.
type process struct {
	cmd   *exec.Cmd
	guard *guard
	alive *os.File // its other end is held by the process and its children: read to the end when all are gone
	logs  string
}

// startProcess starts a program in a folder as the unprivileged user, in a session of its own, without the environment's PG variables.
// What it says goes to a file in the folder. If the test binary dies the guard sends it sig.
func startProcess(g *guard, dir, logs string, sig syscall.Signal, program string, args ...string) (*process, error) {
	cred, err := unprivileged()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program, args...), guard: g, logs: filepath.Join(dir, logs)}
	out, err := os.OpenFile(p.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p.alive = r
	p.cmd.Dir = dir // the tests' own may be closed to that user
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.ExtraFiles = []*os.File{w}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: cred}
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	p.cmd.Env = append(p.cmd.Env, "LC_ALL=C", "HOME="+dir)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), r.Close())
	}
	if err := g.watch(p.cmd.Process.Pid, sig); err != nil {
		return nil, errors.Join(err, p.end(syscall.SIGKILL, time.Minute))
	}
	return p, nil
}

// gone waits until the process and its children have ended, at most so long.
func (p *process) gone(within time.Duration) bool {
	if err := p.alive.SetReadDeadline(time.Now().Add(within)); err != nil {
		return true // closed: it was waited for
	}
	_, err := p.alive.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// wait takes the exit status of a process that is gone.
func (p *process) wait() error {
	p.guard.forget(p.cmd.Process.Pid)
	return errors.Join(p.cmd.Wait(), p.alive.Close())
}

// end sends a signal and waits until the process is gone; its exit status does not matter. What does not end in time is killed, and
// that is an error.
func (p *process) end(sig syscall.Signal, within time.Duration) error {
	err := p.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if !p.gone(within) {
		err = errors.Join(err, fmt.Errorf("%s did not end within %s of signal %s", p.cmd.Path, within, sig), p.cmd.Process.Kill())
	}
	_ = p.wait()
	return err
}

func (p *process) log() string { return tail(p.logs) }

// guard ends what runs in a folder and removes it when this process is gone: see the package comment.
type guard struct {
	cmd *exec.Cmd
	dir string

	mu   sync.Mutex
	pipe *os.File
	runs []string // "SIGNAL PID", each
}

// guardScript reads lines that each name all that runs: signal and process ID in turn. When no more can come it sends them.
const guardScript = `exec 2>/dev/null
trap '' HUP INT TERM
all=
while read -r line; do all=$line; done
set -- "$1" $all
dir=$1
shift
while [ $# -gt 0 ]; do
	kill -$1 $2 && i=0 && while kill -0 $2 && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done
	kill -KILL $2
	shift 2
done
rm -rf -- "$dir"`

func newGuard(dir string) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	g := &guard{cmd: exec.Command("/bin/sh", "-c", guardScript, "stepwell-pgtest-guard", dir), dir: dir, pipe: w}
	g.cmd.Dir = "/"
	g.cmd.Stdin = r
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to the tests' process group is none to the guard
	if err := g.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard of %s: %w", dir, err), w.Close())
	}
	return g, nil
}

// watch adds a process that the guard is to end.
func (g *guard) watch(pid int, sig syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs = append(g.runs, fmt.Sprintf("%d %d", sig, pid))
	return g.tellLocked()
}

// forget takes a process from the guard's list: its ID may be another's soon.
func (g *guard) forget(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs = slices.DeleteFunc(g.runs, func(r string) bool { return strings.HasSuffix(r, " "+strconv.Itoa(pid)) })
	_ = g.tellLocked() // a guard that is gone guards nothing
}

func (g *guard) tellLocked() error {
	if _, err := fmt.Fprintln(g.pipe, strings.Join(g.runs, " ")); err != nil {
		return fmt.Errorf("the guard of %s is gone: %w", g.dir, err)
	}
	return nil
}

// dismiss lets the guard do what it is there for, and waits for it: nothing runs any more, the folder is gone.
func (g *guard) dismiss() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := errors.Join(g.pipe.Close(), g.cmd.Wait())
	if err != nil {
		return fmt.Errorf("the guard of %s: %w", g.dir, err)
	}
	if _, err := os.Stat(g.dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder %s is still there: %v", g.dir, err)
	}
	return nil
}
