// Package telemetry makes Prometheus metrics and OpenTelemetry spans from an App's Observer.
// Programs that do not import it link neither library.
//
//	tel, err := telemetry.New(telemetry.Options{World: w, Service: "shop"})
//	app, err := stepwell.New(w, stepwell.Config{Definitions: defs, Observer: tel.Observer()})
//	http.Handle("GET /metrics", tel.Handler())
//	defer tel.Shutdown(ctx)
//
// # Metrics
//
//   - workflow_runs_started_total{workflow}, workflow_runs_completed_total{workflow,status},
//     workflow_run_duration_seconds{workflow}, workflow_step_duration_seconds{workflow,step},
//     workflow_step_retries_total{workflow,step}, workflow_signals_total{workflow,event} and
//     workflow_retention_swept_total count what this process wrote into logs. Add up those of all
//     processes, with sum.
//   - workflow_runs_in_flight{workflow} and workflow_runs_blocked{workflow,reason} are read from
//     the database, so all processes report the same. Take one, with max. With Totals this also
//     applies to workflow_queue_messages{queue,state}, workflow_queue_oldest_ready_seconds{queue},
//     workflow_publications_due, workflow_publications_oldest_due_seconds,
//     workflow_subscriptions_paused, workflow_limit_places{limit} and
//     workflow_limit_runs{limit,state}.
//
// If a process ends between a commit and the next scrape, its last counts are lost. Nothing is
// counted twice, not even on replay.
//
// # Spans
//
// A run is one trace, across all its processes and however long it sleeps. The span workflow.run is
// sent when the run has ended, by the process that wrote its end. The spans workflow.step and
// workflow.signal are below it. Their IDs derive from the run's ID, so processes need not exchange
// them. To send spans to a collector, also import the module telemetry/otlp.
package telemetry
