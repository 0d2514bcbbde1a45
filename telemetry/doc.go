// Package telemetry makes metrics for Prometheus and spans for OpenTelemetry of what an App tells its Observer. A program that does not
// import it links neither.
//
//	tel, err := telemetry.New(telemetry.Options{World: w, Service: "shop"})
//	app, err := stepwell.New(w, stepwell.Config{Definitions: defs, Observer: tel.Observer()})
//	http.Handle("GET /metrics", tel.Handler())
//	defer tel.Shutdown(ctx)
//
// # Metrics
//
//   - workflow_runs_started_total{workflow}, workflow_runs_completed_total{workflow,status}, workflow_run_duration_seconds{workflow},
//     workflow_step_duration_seconds{workflow,step}, workflow_step_retries_total{workflow,step}, workflow_signals_total{workflow,event} and
//     workflow_retention_swept_total count what this process wrote into logs: add up those of all processes, with sum.
//   - workflow_runs_in_flight{workflow} and workflow_runs_blocked{workflow,reason} are read from the database, and so the same whoever
//     tells them: take one, with max. With Totals so are workflow_queue_messages{queue,state},
//     workflow_queue_oldest_ready_seconds{queue}, workflow_publications_due, workflow_publications_oldest_due_seconds,
//     workflow_subscriptions_paused, workflow_limit_places{limit} and workflow_limit_runs{limit,state}.
//
// A process that ends between a commit and the next scrape takes what it counted with it, as counters do; nothing is counted twice, not on a replay either.
//
// # Spans
//
// A run is one trace, whatever processes it moves through and however long it sleeps. workflow.run is sent when the run has ended, by
// whoever wrote its end; workflow.step and workflow.signal are below it. IDs are made from the run's, so that no process has to ask another.
// To send them to a collector, import the module telemetry/otlp beside.
package telemetry
