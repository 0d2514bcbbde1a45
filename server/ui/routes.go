package ui

// This file has the list of all pages.

import "net/http"

func routes() []route {
	get := func(path string, handle func(*UI, *visit) error, fields ...string) route {
		if len(fields) > 0 {
			fields = append(fields, "refresh", "did")
		}
		return route{method: http.MethodGet, path: Base + path, least: Viewer, handle: handle, fields: fields}
	}
	post := func(path string, least Level, handle func(*UI, *visit) error, fields ...string) route {
		return route{method: http.MethodPost, path: Base + path, least: least, handle: handle, fields: append(fields, "token")}
	}
	open := func(r route) route {
		r.open, r.quiet = true, true
		return r
	}
	form := func(path string, handle func(*UI, *visit) error) route {
		return route{method: http.MethodGet, path: Base + path, least: Operator, handle: handle}
	}
	return []route{
		get("{$}", (*UI).overview),
		get("runs", (*UI).runs),
		post("runs/act", Admin, (*UI).bulk, "act", "query", "back", "all", "run*", "sure", "reason", "event", "payload", "delivery", "cursor", "before"),
		get("failures", failures, "workflow", "since", "failedSince", "cause"),
		get("find", (*UI).seek),
		get("runs/{run}", (*UI).run),
		get("runs/{run}/family", family),
		get("runs/{run}/live", (*UI).runLive),
		get("runs/{run}/events", (*UI).events, "about", "type*", "from", "end"),
		get("runs/{run}/events/{seq}", (*UI).event),
		get("runs/{run}/events/{seq}/payload", (*UI).eventPayload),
		get("runs/{run}/values/{value}", value),
		get("runs/{run}/streams/{stream}", (*UI).stream),
		get("runs/{run}/streams/{stream}/live", (*UI).streamLive),
		form("runs/{run}/act/{act}", (*UI).actForm),
		post("runs/{run}/act/{act}", Operator, (*UI).act, "reason", "force", "event", "payload", "delivery", "filled", textMember, jsonMember, "hook", "input", "version", "id", "inPlace", "at", "results"),
		get("workflows", (*UI).workflows),
		get("workflows/{workflow}", versions),
		form("workflows/{workflow}/start", (*UI).startForm),
		post("workflows/{workflow}/start", Operator, (*UI).start,
			"input", textMember, jsonMember, "key", "id", "priority", "attributes", "delay", "version", "event", "payload", "delivery"),
		post("workflows/{workflow}/{act}", Operator, holdAct, "note"),
		get("hooks", (*UI).hooks, "run", "token"),
		get("queues", queues),
		get("queues/{queue}", oneQueue),
		post("queues/{queue}/{act}", Operator, queueAct, "reason", "message*"),
		get("topics", topics, "topic", "cursor"),
		post("topics/publish", Operator, publish, "topic", "payload", "id"),
		post("topics/subscribe", Operator, subscribe, "name", "pattern", "match", "ordered", "kind", "to", "key"),
		post("topics/{subscription}/{act}", Operator, subscriptionAct, "reason"),
		get("limits", limits),
		get("limits/{limit}", oneLimit, "after", "holders"),
		get("schedules", schedules, "cursor"),
		post("schedules/put", Operator, putSchedule, "name", "workflow", "times", "zone", "overlap", "input",
			"version", "from", "until", "runs", "jitter", "catchup", "pauseonfailure"),
		post("schedules/{schedule}/{act}", Operator, scheduleAct, "reason", "from", "until"),
		get("workers", (*UI).workers),
		get("workers/{worker}", (*UI).worker),
		get("keys", (*UI).keys),
		open(get("login", (*UI).loginForm)),
		open(post("login", Viewer, (*UI).login, "key", "next")),
		open(post("logout", Viewer, (*UI).logout)),
		open(post("prefs", Viewer, (*UI).setPrefs, "theme", "keys", "back", "view", "query", "drop", "columns", "column*")),
		open(get("assets/{hash}/{name}", (*UI).asset)),
	}
}

func (u *UI) keys(v *visit) error {
	v.draw(http.StatusOK, "keys", "Keyboard", navs)
	return nil
}
