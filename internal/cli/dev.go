package cli

// This file is for a programmer at work: a database, a server and the program that works on it, which is built and started again when it changes.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/server"
)

// devFlags are how the command is called.
type devFlags struct {
	listen string
	watch  []string
	once   bool
	remote bool // the program works through the server
}

func devCommand(c *cli) *cobra.Command {
	var flags devFlags
	cmd := &cobra.Command{
		Use:   "dev [flags] -- PROGRAM [ARGUMENT]...",
		Short: "Run your program with a database and a server, and restart it whenever it changes",
		Long: `Run your program with a database and a server, and restart it whenever its files change. Runs in progress continue with
the new code. The database is created if it does not exist, and stays.

PROGRAM is an App with Definitions that opens its database with stepwell.Open(ctx, ""). If it is go run with a package,
this command builds it: if it does not compile, you see the errors and the previous program keeps running. The command
watches the files of that package and of the packages it imports, embedded files and go.mod, except other modules. Any
other program is restarted when a Go file below this folder changes.

The program gets these variables, unless you set them:
  STEPWELL_DB      the database; with it every stepwell command uses the same one
  STEPWELL_STRICT  true: state kept outside of steps shows at once, not at the first crash
  STEPWELL_DRAIN   1s: how long steps may finish when the program is stopped; then their contexts end
  STEPWELL_BUILD   the build's name, shown for runs that no longer match their code
  STEPWELL_DEV     true: errors are printed for people, as they happen, if the program sets no Logger

To stop, the program and the processes it started get an interrupt, as from Ctrl-C, and are killed if they take too
long. The server reads the settings of stepwell server from the environment. Each line of the program's standard output
is printed with a name in front.

With --remote the program works through the server: STEPWELL_DB is its URL, and the program imports world/remote. Then
step workers in other languages can work beside it, also on a SQLite file, which has one process with workers.

To find code that breaks the rules of workflows without running it, use stepwell vet ./...

` + exitHelp + `
With --once the exit code is the program's own.`,
		Example: `  stepwell dev -- go run ./myapp
  stepwell dev --remote -- go run ./album
  stepwell dev --db postgres://app@localhost/app --watch templates -- go run -race ./cmd/worker -v`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash != 0 || len(args) == 0 {
				return usagef("usage:  "+cmd.UseLine(), "dev: no program; name it after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c.forDatabase()
			cfg, err := devServer(c, cmd.Flags().Changed("listen"), &flags)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			err = c.withNew(ctx, func(db *database) error { return newDev(c, db, cfg, &flags, args).run(ctx) })
			if ctx.Err() != nil && errors.Is(err, context.Canceled) && !flags.once {
				return nil // that is how it ends
			}
			return err
		},
	}
	cmd.Flags().StringVar(&flags.listen, "listen", defaultListen, "where the server listens, `host:port` (env STEPWELL_LISTEN); a free port where that is taken")
	cmd.Flags().StringArrayVar(&flags.watch, "watch", nil, "another `file` or folder to watch; repeatable")
	cmd.Flags().BoolVar(&flags.remote, "remote", false, "let the program work through the server, not on the database: for step workers in other languages beside it")
	cmd.Flags().BoolVar(&flags.once, "once", false, "watch nothing, and exit with the program's exit code")
	return cmd
}

// devServer reads the settings of the server beside the program.
func devServer(c *cli, told bool, flags *devFlags) (*serverConfig, error) {
	fl := pflag.NewFlagSet("server", pflag.ContinueOnError)
	addSettings(fl)
	set := map[string]string{}
	if told {
		set["listen"] = flags.listen
	} else if c.getenv("STEPWELL_LISTEN") == "" && !isFree(defaultListen) {
		set["listen"] = "127.0.0.1:0"
	}
	if c.getenv("STEPWELL_LOG_LEVEL") == "" {
		set["log-level"] = "warn"
	}
	for flag, value := range set {
		if err := fl.Set(flag, value); err != nil {
			return nil, err
		}
	}
	return serverConfigOf(c, fl)
}

// isFree reports whether one can listen on an address just now.
func isFree(address string) bool {
	l, err := net.Listen("tcp", address)
	return err == nil && l.Close() == nil
}

// dev is a session of a programmer.
type dev struct {
	c     *cli
	db    *database
	cfg   *serverConfig
	flags *devFlags
	out   *devOutput

	program *devProgram
	watch   *devWatch // nil: --once
	child   *devChild // nil: it has ended, or was never built
	built   string    // what the child is, of those that are built here
	hint    *time.Timer
	url     string // of the server
}

func newDev(c *cli, db *database, cfg *serverConfig, flags *devFlags, args []string) *dev {
	return &dev{c: c, db: db, cfg: cfg, flags: flags, out: newDevOutput(c), program: newDevProgram(args), hint: time.NewTimer(devHint)}
}

// devHint is how long a program has to join the database, before its programmer is asked which one it has opened.
const devHint = 5 * time.Second

func (d *dev) run(ctx context.Context) (err error) {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends behind the program that works through it
	ended, listening := make(chan error, 1), make(chan string, 1)
	d.cfg.listening = func(url string) { listening <- url }
	shell := *d.c.shell
	shell.stderr = d.out.lines("server", dim, d.c.stderr)
	go func() { ended <- serveWorld(serving, d.c.in(&shell), d.db, d.cfg) }()
	select {
	case url := <-listening:
		d.url = strings.Replace(url, "[::]", "localhost", 1)
		d.welcome(ctx, url)
	case err := <-ended:
		stop()
		return err
	case <-ctx.Done():
		stop()
		return <-ended
	}
	served := false
	defer func() {
		stop()
		if !served {
			err = errors.Join(err, <-ended)
		}
	}()
	if d.program.dir, err = os.MkdirTemp("", "stepwell-dev-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.program.dir)) }()
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan error, 1)
	go func() { over <- d.loop(work) }()
	select {
	case err = <-over:
	case fault := <-ended:
		served = true
		cancel(fault)
		err = errors.Join(fault, <-over)
	}
	return err
}

// welcome says what is where.
func (d *dev) welcome(ctx context.Context, url string) {
	d.out.say("database  %s", d.c.place())
	d.out.say("API       %s", url)
	if d.hasUI(ctx, url) {
		d.out.say("UI        %s/ui/", url)
	}
	if d.url != "http://"+defaultListen { // where clients look, if nobody tells them
		d.out.say("clients   and step workers need STEPWELL_URL=%s", d.url)
	}
}

// hasUI asks the server whether it has pages for people.
func (d *dev) hasUI(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	if d.cfg.tls.cert != "" {
		var err error
		if transport.TLSClientConfig, err = only(d.cfg.tls.cert); err != nil {
			return false
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(url, "[::]", "localhost", 1)+"/ui/", nil)
	if err != nil {
		return false
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<10) // what it says does not matter
	_ = resp.Body.Close()
	return resp.StatusCode != http.StatusNotFound
}

// environment is what the program gets. What the programmer has set stays.
func (d *dev) environment(build string) []string {
	env := os.Environ()
	set := func(name, value string, always bool) {
		if value != "" && (always || d.c.getenv(name) == "") {
			env = append(env, name+"="+value)
		}
	}
	db := d.c.url()
	if d.flags.remote {
		db = d.url
	}
	set("STEPWELL_DB", db, true)
	set("STEPWELL_STRICT", "true", false)
	set("STEPWELL_DRAIN", "1s", false)
	set("STEPWELL_BUILD", build, false)
	set(logs.DevVariable, "true", false)
	return env
}

// grace is how long the program may take to stop: what STEPWELL_DRAIN gives its bodies, 2/5 of that for those that do not heed it, and a little.
func (d *dev) grace() time.Duration {
	drain := time.Second
	if v := d.c.getenv("STEPWELL_DRAIN"); v != "" {
		if given, err := server.ParseDuration(v); err == nil {
			drain = given
		}
	}
	return drain*7/5 + 3*time.Second
}

// ended is what became of the program, as an error.
func (d *dev) ended(child *devChild) error {
	code := child.cmd.ProcessState.ExitCode()
	if code == 0 {
		return nil
	}
	return &fault{max(code, exitFailure), fmt.Errorf("the program ended with %s", child.cmd.ProcessState), ""}
}
