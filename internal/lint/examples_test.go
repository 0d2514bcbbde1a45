package lint

// This file holds what is to be shown: each verb that authors and operators call has an example that runs.

import (
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shownIn are verbs without an example of their own name, and the example that shows them.
var shownIn = map[string]string{
	"Attributes":              "ExampleRunID",
	"Delay":                   "ExampleRunID",
	"Exec":                    "ExampleCall",
	"Failed":                  "ExampleMapSettled",
	"KeyOf":                   "ExampleLimit",
	"App.Holds":               "ExampleApp_Hold",
	"App.Release":             "ExampleApp_Hold",
	"queue.Limits":            "ExampleQueue_Handle",
	"keyring.Key.Text":        "ExampleNewKey",
	"keyring.Ring.Has":        "ExampleParse",
	"keyring.Ring.Key":        "ExampleNewKey",
	"History.HasValues":       "ExampleWithValues",
	"keyring.Ring.IDs":        "ExampleParse",
	"keyring.Ring.Primary":    "ExampleParse",
	"Priority":                "ExampleRunID",
	"Tags":                    "ExampleRunID",
	"Undoing.Drop":            "ExampleAddUndo",
	"Undoing.Run":             "ExampleAddUndo",
	"App.Close":               "ExampleApp_Invoke",
	"RunInfo.Owner":           "ExampleRunInfo_Why",
	"App.Count":               "ExampleWhere",
	"App.CancelOutcome":       "ExampleApp_Cancel",
	"App.EndedHook":           "ExampleNewHook",
	"App.Hooks":               "ExampleNewHook",
	"HeartbeatNow":            "ExampleHeartbeat",
	"HeartbeatTimeout":        "ExampleHeartbeat",
	"Progress":                "ExampleHeartbeat",
	"App.ReadStream":          "ExampleApp_Streams",
	"Since":                   "ExampleListen",
	"App.Resume":              "ExampleApp_Pause",
	"App.SendHook":            "ExampleNewHook",
	"App.World":               "ExampleRunInfo_Why",
	"HookPayload":             "ExampleAccepts",
	"App.Schemas":             "ExampleAccepts",
	"App.CheckRestart":        "ExampleApp_Restart",
	"App.RetryAdvice":         "ExampleApp_Retry",
	"RetryAdvice.Does":        "ExampleApp_Retry",
	"RetryAdvice.Instead":     "ExampleApp_Retry",
	"Run.Exactly":             "ExampleApp_Newest",
	"ChildCall.Start":         "ExampleWorkflow_Child",
	"ChildRun.ID":             "ExampleDetached",
	"CloseStream":             "ExampleWriteStream",
	"Event":                   "ExampleEventDef_Wait",
	"EventDef.Name":           "ExampleApp_Signal",
	"EventDef.Send":           "ExampleEventDef_Wait",
	"EventDef.Start":          "ExampleSelect",
	"Future.Get":              "ExampleGo",
	"Metadata":                "ExampleNewHook",
	"Parallel":                "ExampleApp_Bulk",
	"ReadHistories":           "ExampleApp_Import",
	"ReadStream":              "ExampleStream",
	"RegisteredStep.Run":      "ExampleDefineStep",
	"RegisteredStep.With":     "ExampleMap_registeredStep",
	"Run.Existed":             "ExampleKey",
	"Run.Merged":              "ExampleKey",
	"Run.ID":                  "ExampleKey",
	"Run.Retention":           "ExampleRetention",
	"StreamWriter.Close":      "ExampleStream",
	"StreamWriter.Flush":      "ExampleStreamWriter_Keep",
	"StreamWriter.Write":      "ExampleStream",
	"StreamWriter.Written":    "ExampleStreamWriter_Keep",
	"Timer":                   "ExampleSelect",
	"AlsoSignal":              "ExampleEventDef_AlsoSend",
	"Named":                   "ExampleHook_Wait",
	"Token":                   "ExampleNewHook",
	"webhook.Door.Answer":     "ExampleNew",
	"webhook.Door.Send":       "ExampleNew",
	"webhook.Find":            "ExampleNew",
	"webhook.FindEnded":       "ExampleNew",
	"webhook.Header.Get":      "ExampleNew",
	"webhook.Hook.URL":        "ExampleSigned",
	"webhook.Metadata":        "ExampleOf",
	"webhook.Request.Decode":  "ExampleNew",
	"webhook.Request.Respond": "ExampleNew",
	"webhook.PayloadErrors":   "ExampleOf",
	"webhook.RespondManually": "ExampleNew",
	"webhook.Named":           "ExampleNew",
	"webhook.Token":           "ExampleNew",
	"Workflow.Name":           "ExampleRunInfo_Why",
	"blob.Put":                "ExampleOpen",
	"blob.Read":               "ExampleCreate",
	"blob.Ref.ID":             "ExampleCreate",
	"blob.Ref.IsZero":         "ExampleCreate",
	"blob.Ref.Size":           "ExampleCreate",
	"queue.Define":            "ExampleQueue_Handle",
	"queue.MaxReceives":       "ExampleQueue_Handle",
	"queue.Visibility":        "ExampleQueue_Handle",
	"queue.Parallel":          "ExampleQueue_Handle",
	"queue.Retry":             "ExampleQueue_Handle",
	"queue.Queue.Send":        "ExampleQueue_Handle",
	"queue.Group":             "ExampleQueue_Handle",
	"queue.DedupeID":          "ExampleQueue_Handle",
	"queue.Headers":           "ExampleQueue_Handle",
	"queue.Queue.Name":        "ExampleQueue_Handle",
	"queue.Queue.SendAll":     "ExampleQueue_Receive",
	"queue.Priority":          "ExampleQueue_Receive",
	"queue.Delay":             "ExampleQueue_Receive",
	"queue.Most":              "ExampleQueue_Receive",
	"queue.Wait":              "ExampleQueue_Receive",
	"queue.For":               "ExampleQueue_Receive",
	"queue.Match":             "ExampleQueue_Receive",
	"queue.Message.Ack":       "ExampleQueue_Receive",
	"queue.Message.Nack":      "ExampleQueue_Receive",
	"queue.Message.Extend":    "ExampleQueue_Receive",
	"queue.Message.Bury":      "ExampleQueue_Receive",
	"queue.Queue.Declare":     "ExampleAwait",
	"topic.Of":                "ExampleTopic_Publish",
	"topic.ToQueue":           "ExampleTopic_Publish",
	"topic.ToWorkflow":        "ExampleTopic_Publish",
	"topic.Where":             "ExampleTopic_Publish",
	"topic.Ordered":           "ExampleTopic_Publish",
	"topic.Revision":          "ExampleTopic_Publish",
	"topic.KeyFrom":           "ExampleTopic_Publish",
	"topic.AttributeFrom":     "ExampleTopic_Publish",
	"topic.Subscriptions":     "ExampleTopic_Publish",
	"topic.DeliveryID":        "ExampleTopic_Publish",
	"topic.Source":            "ExampleTopic_Publish",
	"topic.Headers":           "ExampleTopic_Publish",
	"topic.Delay":             "ExampleSubscribe",
	"topic.Unsubscribe":       "ExampleSubscribe",
	"topic.GiveUpAfter":       "ExampleSubscribe",
	"topic.Topic.Name":        "ExampleSubscribe",
	"topic.Subscription.Name": "ExampleSubscribe",
	"topic.AllowPrivate":      "ExampleToEndpoint",
	"topic.Secret":            "ExampleToEndpoint",
	"topic.At":                "ExampleToEndpoint",
	"schedule.Backfill":       "ExampleSet",
	"schedule.CatchUp":        "ExampleSet",
	"schedule.Computed":       "ExampleSet",
	"schedule.From":           "ExampleSet",
	"schedule.Jitter":         "ExampleSet",
	"schedule.List":           "ExampleSet",
	"schedule.Of":             "ExampleSet",
	"schedule.Overlap":        "ExampleSet",
	"schedule.Pause":          "ExampleSet",
	"schedule.PauseOnFailure": "ExampleSet",
	"schedule.Resume":         "ExampleSet",
	"schedule.Runs":           "ExampleSet",
	"schedule.Schedule.Name":  "ExampleSet",
	"schedule.Schedule.Next":  "ExampleSet",
	"schedule.New":            "ExampleSet",
	"schedule.Times":          "ExampleSet",
	"schedule.Until":          "ExampleSet",
	"schedule.Zone":           "ExampleSet",
	"schedule.Delete":         "ExamplePut",
	"schedule.Trigger":        "ExamplePut",
}

// notRun are examples without output: they need what a test of the root package does not have.
var notRun = map[string]string{
	"ExampleIn":               "a PostgreSQL database: TestInTheCallersTransaction",
	"ExampleTopic_Publish_in": "a PostgreSQL database: TestPublishInTheCallersTransaction",
	"ExampleTransactional":    "a PostgreSQL database: TestTransactionalStep",
}

// TestExamples: every exported function, and every method but of errors and of interfaces, has an example with output, or is called in another's.
func TestExamples(t *testing.T) {
	least := map[string]int{"": 60}
	for _, dir := range append([]string{""}, rooms...) {
		examplesIn(t, dir, least[dir])
	}
}

// examplesIn is the rule for one package. Its verbs are named with it, but for the root's.
func examplesIn(t *testing.T, dir string, least int) {
	verbs, examples := map[string]bool{}, map[string]*ast.FuncDecl{}
	room := ""
	if dir != "" {
		room = dir + "."
	}
	for _, s := range sources(t) {
		if s.dir != dir {
			continue
		}
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case s.test && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example"):
				examples[fn.Name.Name] = fn
				if _, excused := notRun[fn.Name.Name]; excused == printed(s, fn) {
					t.Errorf("%s: %s: has output: %v, is excused: %v", s.at(fn.Pos()), fn.Name, !excused, excused)
				}
			case !s.test && fn.Name.IsExported() && onExported(fn) && !standard[fn.Name.Name]:
				verbs[verb(fn)] = true
			}
		}
	}
	if len(verbs) < least {
		t.Fatalf("%s: got %d verbs, want the package's", dir, len(verbs))
	}
	for _, v := range slices.Sorted(maps.Keys(verbs)) {
		name := "Example" + strings.ReplaceAll(v, ".", "_")
		own := slices.ContainsFunc(slices.Collect(maps.Keys(examples)), func(e string) bool {
			rest, ok := strings.CutPrefix(e, name+"_")
			return e == name || ok && rest != "" && rest[0] >= 'a' && rest[0] <= 'z'
		})
		other, excused := shownIn[room+v]
		switch {
		case strings.HasSuffix(strings.Split(v, ".")[0], "Error"): // what came with an error is read, not called for
		case own && excused:
			t.Errorf("%s%s has an example of its own: shownIn need not have it", room, v)
		case !own && !excused:
			t.Errorf("%s%s has no example: write %s, or name in shownIn the one that shows it", room, v, name)
		case excused && (examples[other] == nil || !calls(examples[other], v)):
			t.Errorf("%s%s is to be shown in %s, which does not call it", room, v, other)
		}
	}
	for name := range shownIn {
		v, of := strings.CutPrefix(name, room)
		if pkg, _, _ := strings.Cut(name, "."); dir == "" {
			of = !slices.Contains(rooms, pkg)
		}
		if of && !verbs[v] {
			t.Errorf("shownIn has %s, which is no verb", name)
		}
	}
}

// verb is a function's name, or Type.Method.
func verb(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// printed reports whether an example says what it prints: only then it is run.
func printed(s *source, fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(s.file.Comments, func(g *ast.CommentGroup) bool {
		return g.Pos() > fn.Body.Pos() && g.End() < fn.Body.End() && strings.HasPrefix(g.Text(), "Output:")
	})
}

// calls reports whether a function names a verb as x.Verb.
func calls(fn *ast.FuncDecl, verb string) (found bool) {
	name := verb[strings.LastIndexByte(verb, '.')+1:]
	ast.Inspect(fn, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		found = found || ok && sel.Sel.Name == name
		return !found
	})
	return found
}

// TestSignals: Kubernetes and systemd stop a program with SIGTERM, so what readers copy hears that too.
func TestSignals(t *testing.T) {
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.IsDir() && (d.Name() == "node_modules" || path != root && strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return err
		}
		shown := strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".go.txt") || strings.HasSuffix(path, ".go") && strings.Contains(filepath.ToSlash(path), "/examples/")
		if !shown || d.Name() == "CHANGELOG.md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "signal.NotifyContext(") {
				if n++; !strings.Contains(line, "syscall.SIGTERM") {
					t.Errorf("%s: it does not hear SIGTERM: %s", path, strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil || n < 3 { // most have stepwell.Main
		t.Errorf("got %d calls, %v", n, err)
	}
}
