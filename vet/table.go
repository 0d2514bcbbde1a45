package vet

// What is known by name: functions of the standard library, and a few that many programs use, with the rule that they
// break.

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// entry is what the table says of a function or variable.
type entry struct {
	rule *rule
	use  string // what to write instead
}

// listed is a line of the table: names of a package, as F, T.Method, or T.* for all methods of a type; * is all
// functions.
type listed struct {
	pkg, names string
	entry
}

const inStep = "do it in a step"

var list = []listed{
	{"time", "Now Since Until", entry{ruleTime, "use ctx.Now()"}},
	{"time", "Sleep", entry{ruleTime, "use stepwell.Sleep"}},
	{"time", "After AfterFunc Tick NewTimer NewTicker", entry{ruleTime, "use stepwell.Sleep or stepwell.Timer"}},
	{"time", "Local Time.Local", entry{ruleEnvironment, "use In with a zone that is written down"}},
	{"context", "Background TODO WithCancel WithCancelCause WithTimeout WithTimeoutCause WithDeadline WithDeadlineCause", entry{ruleBackground, "for a deadline use stepwell.WithTimeout"}},
	{"math/rand", "Int Intn Int31 Int31n Int63 Int63n Uint32 Uint64 Float32 Float64 NormFloat64 ExpFloat64 Perm Shuffle Read Seed", entry{ruleRandom, "use ctx.Rand()"}},
	{"math/rand/v2", "Int IntN Int32 Int32N Int64 Int64N Uint Uint32 Uint32N Uint64 Uint64N UintN N Float32 Float64 NormFloat64 ExpFloat64 Perm Shuffle", entry{ruleRandom, "use ctx.Rand()"}},
	{"crypto/rand", "Int Prime Read Text Reader", entry{ruleRandom, "use ctx.Rand(), or draw it in a step"}},
	{"hash/maphash", "MakeSeed Comparable String Bytes", entry{ruleRandom, "use a hash without a seed"}},
	{"github.com/google/uuid", "New NewString NewRandom NewUUID NewV6 NewV7 NewRandomFromReader", entry{ruleRandom, "use ctx.NewID()"}},
	{"github.com/gofrs/uuid", "NewV1 NewV4 NewV6 NewV7", entry{ruleRandom, "use ctx.NewID()"}},
	{"github.com/gofrs/uuid/v5", "NewV1 NewV4 NewV6 NewV7", entry{ruleRandom, "use ctx.NewID()"}},
	{"github.com/oklog/ulid/v2", "Make Now DefaultEntropy", entry{ruleRandom, "use ctx.NewID()"}},
	{"github.com/rs/xid", "New NewWithTime", entry{ruleRandom, "use ctx.NewID()"}},
	{"github.com/segmentio/ksuid", "New NewRandom", entry{ruleRandom, "use ctx.NewID()"}},
	{"os", "Getenv LookupEnv Environ ExpandEnv Setenv Unsetenv Clearenv Args", entry{ruleEnvironment, "read it in a step, or before the App starts"}},
	{"os", "Hostname Getpid Getppid Getuid Geteuid Getgid Getegid Getwd Executable UserHomeDir UserCacheDir UserConfigDir TempDir FindProcess StartProcess", entry{ruleEnvironment, inStep}},
	{"os", "DirFS Stdin Create CreateTemp Open OpenFile OpenInRoot OpenRoot ReadFile WriteFile ReadDir Stat Lstat Remove RemoveAll Rename Mkdir MkdirAll MkdirTemp Chdir Chmod Chown Chtimes Link Symlink Readlink Truncate Pipe CopyFS File.* Root.*", entry{ruleFiles, inStep}},
	{"os", "Exit", entry{rulePanics, "return an error"}},
	{"os/exec", "Command CommandContext LookPath Cmd.*", entry{ruleEnvironment, inStep}},
	{"os/signal", "Notify NotifyContext Ignore Reset Stop", entry{ruleEnvironment, "a worker that is told to stop drains by itself"}},
	{"os/user", "*", entry{ruleEnvironment, inStep}},
	{"runtime", "NumGoroutine NumCPU GOMAXPROCS ReadMemStats Stack NumCgoCall", entry{ruleEnvironment, inStep}},
	{"runtime", "Gosched", entry{ruleGoroutines, "coroutines change over where they wait"}},
	{"runtime", "Goexit LockOSThread", entry{rulePanics, "return"}},
	{"io/ioutil", "ReadFile WriteFile ReadDir TempDir TempFile", entry{ruleFiles, inStep}},
	{"path/filepath", "Walk WalkDir Glob Abs EvalSymlinks", entry{ruleFiles, inStep}},
	{"net", "Dial DialTimeout DialTCP DialUDP DialUnix DialIP Listen ListenPacket ListenTCP ListenUDP ListenUnix LookupHost LookupIP LookupAddr LookupCNAME LookupMX LookupNS LookupPort LookupSRV LookupTXT Interfaces InterfaceAddrs ResolveTCPAddr ResolveUDPAddr ResolveIPAddr Dialer.* Resolver.* Conn.* PacketConn.* Listener.* TCPConn.* UDPConn.*", entry{ruleNetwork, inStep}},
	{"net/http", "Get Post PostForm Head ListenAndServe ListenAndServeTLS Serve Client.Do Client.Get Client.Post Client.PostForm Client.Head Transport.RoundTrip RoundTripper.RoundTrip Server.*", entry{ruleNetwork, inStep}},
	{"net/smtp", "Dial SendMail Client.*", entry{ruleNetwork, inStep}},
	{"net/rpc", "Dial DialHTTP Client.*", entry{ruleNetwork, inStep}},
	{"crypto/tls", "Dial DialWithDialer Dialer.*", entry{ruleNetwork, inStep}},
	{"google.golang.org/grpc", "Dial DialContext NewClient ClientConn.*", entry{ruleNetwork, inStep}},
	{"database/sql", "Open OpenDB DB.* Tx.* Stmt.* Conn.* Row.Scan Rows.Next", entry{ruleDatabase, inStep}},
	{"github.com/jackc/pgx/v5", "Connect ConnectConfig Conn.* BeginFunc BeginTxFunc", entry{ruleDatabase, inStep}},
	{"github.com/jackc/pgx/v5/pgxpool", "New NewWithConfig Pool.* Conn.* Tx.*", entry{ruleDatabase, inStep}},
	{"github.com/jmoiron/sqlx", "Connect Open DB.* Tx.*", entry{ruleDatabase, inStep}},
	{"gorm.io/gorm", "Open DB.*", entry{ruleDatabase, inStep}},
	{"sync", "Mutex.* RWMutex.* Cond.* WaitGroup.Wait WaitGroup.Add WaitGroup.Done", entry{ruleLocks, "use variables, Await, or a Future"}},
	{"sync", "WaitGroup.Go", entry{ruleGoroutines, "use stepwell.Go, All, Race or Map"}},
	{"golang.org/x/sync/errgroup", "Group.Go Group.TryGo", entry{ruleGoroutines, "use stepwell.Go, All, Race or Map"}},
	{"golang.org/x/sync/errgroup", "Group.Wait", entry{ruleLocks, "use stepwell.All"}},
	{"log", "Print Printf Println Output Default Logger.Print Logger.Printf Logger.Println Logger.Output", entry{ruleLogging, "use ctx.Logger()"}},
	{"log", "Fatal Fatalf Fatalln Panic Panicf Panicln Logger.Fatal Logger.Fatalf Logger.Fatalln Logger.Panic Logger.Panicf Logger.Panicln", entry{rulePanics, "return an error"}},
	{"log/slog", "Debug Info Warn Error Log LogAttrs DebugContext InfoContext WarnContext ErrorContext Default With", entry{ruleLogging, "use ctx.Logger()"}},
	{"go.uber.org/zap", "L S Logger.Debug Logger.Info Logger.Warn Logger.Error Logger.Log SugaredLogger.Debug SugaredLogger.Debugf SugaredLogger.Debugw SugaredLogger.Info SugaredLogger.Infof SugaredLogger.Infow SugaredLogger.Warn SugaredLogger.Warnf SugaredLogger.Warnw SugaredLogger.Error SugaredLogger.Errorf SugaredLogger.Errorw", entry{ruleLogging, "use ctx.Logger()"}},
	{"go.uber.org/zap", "Logger.Fatal Logger.Panic SugaredLogger.Fatal SugaredLogger.Fatalf SugaredLogger.Fatalw SugaredLogger.Panic SugaredLogger.Panicf SugaredLogger.Panicw", entry{rulePanics, "return an error"}},
	{"github.com/sirupsen/logrus", "Trace Debug Info Warn Error Tracef Debugf Infof Warnf Errorf Logger.Trace Logger.Debug Logger.Info Logger.Warn Logger.Error Logger.Tracef Logger.Debugf Logger.Infof Logger.Warnf Logger.Errorf Entry.Trace Entry.Debug Entry.Info Entry.Warn Entry.Error Entry.Tracef Entry.Debugf Entry.Infof Entry.Warnf Entry.Errorf", entry{ruleLogging, "use ctx.Logger()"}},
	{"github.com/rs/zerolog", "Event.Msg Event.Msgf Event.Send", entry{ruleLogging, "use ctx.Logger()"}},
	{"fmt", "Print Printf Println", entry{ruleLogging, "use ctx.Logger()"}},
	{"fmt", "Scan Scanf Scanln", entry{ruleFiles, inStep}},
}

var table = func() map[string]*entry {
	all := map[string]*entry{}
	for _, l := range list {
		for name := range strings.FieldsSeq(l.names) {
			e := l.entry
			all[l.pkg+"."+name] = &e
		}
	}
	return all
}()

// known is what the table says of a function or a variable, or nil.
func known(o types.Object) *entry {
	if o.Pkg() == nil {
		return nil
	}
	path := o.Pkg().Path() + "."
	f, ok := o.(*types.Func)
	if !ok {
		if v, ok := o.(*types.Var); ok && v.IsField() {
			return nil
		}
		return table[path+o.Name()]
	}
	recv := f.Signature().Recv()
	if recv == nil {
		if e := table[path+o.Name()]; e != nil {
			return e
		}
		return table[path+"*"]
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return nil
	}
	if e := table[path+n.Obj().Name()+"."+o.Name()]; e != nil {
		return e
	}
	return table[path+n.Obj().Name()+".*"]
}

// calm are methods of types that the table has whole, which only tell what is in memory.
var calm = map[string]bool{"File.Name": true, "File.Fd": true, "Cmd.String": true, "Cmd.Environ": true, "DB.Stats": true, "Pool.Config": true, "Pool.Stat": true, "Root.Name": true}

// harmless reports whether a use of what the table has does nothing: a method that only tells, a lock that is
// deferred to.
func (c effects) harmless(o *types.Func, cur inspector.Cursor) bool {
	return calm[called(o)] || o.Pkg().Path() == "sync" && strings.HasSuffix(o.Name(), "nlock") && cur.Parent().ParentEdgeKind() == edge.DeferStmt_Call
}

// Pure declares further functions and packages that workflow code may call, whatever they do:
// example.com/money, example.com/money.Round, or example.com/money.Amount.Round. Call it once,
// before analyzers run.
func Pure(names ...string) {
	for _, n := range names {
		pure[n] = true
	}
}

var pure = map[string]bool{}

func (c effects) pure(o *types.Func) bool {
	if len(pure) == 0 || o.Pkg() == nil {
		return false
	}
	path := o.Pkg().Path()
	return pure[path] || pure[path+"."+o.Name()] || pure[path+"."+called(o)]
}
