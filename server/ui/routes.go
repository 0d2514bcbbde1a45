package ui

// This file has the list of all pages.

import "net/http"

func routes() []route {
	get := func(path string, handle func(*UI, *visit) error) route {
		return route{method: http.MethodGet, path: Base + path, least: Viewer, handle: handle}
	}
	post := func(path string, least Level, handle func(*UI, *visit) error) route {
		return route{method: http.MethodPost, path: Base + path, least: least, handle: handle}
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
		post("runs/act", Admin, (*UI).bulk),
		get("failures", failures),
		get("find", (*UI).seek),
		get("runs/{run}", (*UI).run),
		get("runs/{run}/family", family),
		get("runs/{run}/live", (*UI).runLive),
		get("runs/{run}/events", (*UI).events),
		get("runs/{run}/events/{seq}", (*UI).event),
		get("runs/{run}/events/{seq}/payload", (*UI).eventPayload),
		get("runs/{run}/streams/{stream}", (*UI).stream),
		get("runs/{run}/streams/{stream}/live", (*UI).streamLive),
		form("runs/{run}/act/{act}", (*UI).actForm),
		post("runs/{run}/act/{act}", Operator, (*UI).act),
		get("workflows", (*UI).workflows),
		get("workflows/{workflow}", versions),
		form("workflows/{workflow}/start", (*UI).startForm),
		post("workflows/{workflow}/start", Operator, (*UI).start),
		get("hooks", (*UI).hooks),
		get("queues", queues),
		get("queues/{queue}", oneQueue),
		post("queues/{queue}/{act}", Operator, queueAct),
		get("workers", (*UI).workers),
		get("workers/{worker}", (*UI).worker),
		get("keys", (*UI).keys),
		open(get("login", (*UI).loginForm)),
		open(post("login", Viewer, (*UI).login)),
		open(post("logout", Viewer, (*UI).logout)),
		open(post("prefs", Viewer, (*UI).setPrefs)),
		open(get("assets/{hash}/{name}", (*UI).asset)),
	}
}

func (u *UI) keys(v *visit) error {
	v.draw(http.StatusOK, "keys", "Keyboard", navs)
	return nil
}
