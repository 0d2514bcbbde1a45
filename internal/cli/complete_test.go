package cli

// What the API can do, the command can.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// commandOf has the command for each operation of the API, or why there is none.
var commandOf = map[string]string{
	"startRun":      "runs start",
	"uploadBlob":    "runs start", // --blob
	"getWorkflow":   "runs start", // --help-input
	"listRuns":      "runs list",
	"listAllRuns":   "runs list",
	"getRun":        "runs result", // and runs show
	"cancelRun":     "runs cancel",
	"signalRun":     "runs signal",
	"pauseRun":      "runs pause",
	"resumeRun":     "runs resume",
	"wakeRun":       "runs wake",
	"restartRun":    "runs restart",
	"forkRun":       "runs fork",
	"retryRun":      "runs retry",
	"bulk":          "bulk",
	"getSteps":      "runs show",
	"whyRun":        "runs show",
	"getEvents":     "events", // and runs tail
	"listSignals":   "events", // with --type signal_received
	"listStreams":   "streams list",
	"readStream":    "streams tail",
	"listHooks":     "hooks list",
	"getHook":       "hooks list",
	"sendHook":      "hooks send",
	"heartbeatHook": "hooks heartbeat",
	"listWorkflows": "workflows",
	"listVersions":  "workflows",
	"listFailures":  "failures",
	"listWorkers":   "workers",
	"getValue":      "runs value",

	"publish":            "topics publish",
	"listPublications":   "topics publications",
	"listSubscriptions":  "topics list",
	"getSubscription":    "topics show",
	"subscribe":          "topics subscribe",
	"unsubscribe":        "topics unsubscribe",
	"pauseSubscription":  "topics pause",
	"resumeSubscription": "topics resume",
	"redeliver":          "topics redeliver",
	"rotateSecret":       "topics rotate-secret",
	"holdWorkflow":       "workflows hold",
	"releaseWorkflow":    "workflows release",
	"listHolds":          "workflows",
	"listLimits":         "limits list",
	"getLimit":           "limits show",
	"listLimitHolders":   "limits holders",
	"setLimit":           "limits set",
	"listSchedules":      "schedules list",
	"getSchedule":        "schedules show",
	"putSchedule":        "schedules create",
	"deleteSchedule":     "schedules delete",
	"pauseSchedule":      "schedules pause",
	"resumeSchedule":     "schedules resume",
	"triggerSchedule":    "schedules trigger",
	"backfillSchedule":   "schedules backfill",
	"listQueues":         "queues list",
	"getQueue":           "queues show",
	"declareQueue":       "queues declare",
	"dropQueue":          "queues drop",
	"pauseQueue":         "queues pause",
	"resumeQueue":        "queues resume",
	"purgeQueue":         "queues purge",
	"redriveQueue":       "queues redrive",
	"sendMessages":       "queues send",
	"peekMessages":       "queues peek",
	"receiveMessages":    "queues receive",
	"ackMessages":        "queues ack",
	"nackMessages":       "queues nack",
	"extendMessages":     "queues extend",
	"buryMessages":       "queues bury",

	"takeSteps":       "-", // as these, of programs that run steps: people have no functions
	"beatSteps":       "-",
	"completeStep":    "-",
	"failStep":        "-",
	"writeStepStream": "-",
	"leaveSteps":      "-",
}

func TestCommandsForAllOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "server", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	root := rootCommand(newCLI(&shell{}))
	there := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			op.OperationID = strings.TrimSuffix(op.OperationID, "ByID") // the same without the workflow
			there[op.OperationID] = true
			if !strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v1/world") { // for machines, and what --server itself speaks
				continue
			}
			name, known := commandOf[op.OperationID]
			if !known {
				t.Errorf("%s %s (%s): no command does that; say which in commandOf, or - with the reason", strings.ToUpper(method), path, op.OperationID)
				continue
			}
			if cmd, rest, err := root.Find(strings.Fields(name)); name != "-" && (err != nil || cmd == root || len(rest) > 0) {
				t.Errorf("%s: there is no command %s", op.OperationID, name)
			}
		}
	}
	for op := range commandOf {
		if !there[op] {
			t.Errorf("the API has no operation %s", op)
		}
	}
}
