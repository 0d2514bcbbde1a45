package ui

// This file keeps what visitors like: light or dark, single-key shortcuts, their time zone, and how they look at lists
// (views.go). These are cookies of their own, which say nothing of who they are, so that the first byte of a page is
// drawn as it should be, with scripts or without.

import (
	"net/http"
	"sync"
	"time"
)

// prefs are what a visitor likes.
type prefs struct {
	theme  string // light or dark; "": as the system has it
	noKeys bool   // no shortcuts of a single key
	zone   *time.Location
}

const (
	themeCookie = "stepwell_theme"
	keysCookie  = "stepwell_keys"
	zoneCookie  = "stepwell_zone" // the script writes it
	prefsTime   = 365 * 24 * time.Hour
)

func readPrefs(r *http.Request) prefs {
	p := prefs{zone: time.Local}
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		p.theme = c.Value
	}
	if c, err := r.Cookie(keysCookie); err == nil {
		p.noKeys = c.Value == "off"
	}
	if c, err := r.Cookie(zoneCookie); err == nil {
		if zone := zoneOf(c.Value); zone != nil {
			p.zone = zone
		}
	}
	return p
}

// zones are those that visitors have: at most as many as there are.
var zones sync.Map

func zoneOf(name string) *time.Location {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location)
	}
	if name == "" || name == "Local" || len(name) > 64 {
		return nil
	}
	zone, err := time.LoadLocation(name) // which looks at no path outside of its database
	if err != nil {
		return nil
	}
	zones.Store(name, zone)
	return zone
}

// setPrefs takes the forms of the head and of the page of shortcuts.
func (u *UI) setPrefs(v *visit) error {
	set := func(name, value string) {
		age := int(prefsTime / time.Second)
		if value == "" {
			age = -1
		}
		http.SetCookie(v.w, &http.Cookie{
			Name: name, Value: value, Path: Base, MaxAge: age, HttpOnly: true, Secure: secure(v.Request), SameSite: http.SameSiteStrictMode,
		})
	}
	switch theme := v.Form.Get("theme"); theme {
	case "light", "dark":
		set(themeCookie, theme)
	case "system":
		set(themeCookie, "")
	}
	switch v.Form.Get("keys") {
	case "off":
		set(keysCookie, "off")
	case "on":
		set(keysCookie, "")
	}
	if views, ok, err := v.keepView(); err != nil {
		return err
	} else if ok {
		set(viewsCookie, views)
	}
	if shown, ok := v.keepColumns(); ok {
		set(columnsCookie, shown)
	}
	back := v.Form.Get("back")
	if !ours(back) {
		back = Base
	}
	v.redirect(back)
	return nil
}
