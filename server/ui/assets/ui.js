// Makes pages live, and reachable with single keys. Nothing here is needed: each page works without it.
"use strict";
(() => {
  const body = document.body;
  const $ = (query, from = document) => from.querySelector(query);
  const all = (query, from = document) => [...from.querySelectorAll(query)];

  // On a phone the filter is folded: the runs are what one came for.
  if (matchMedia("(max-width: 760px)").matches) $(".folds")?.removeAttribute("open");

  // The server writes times in the visitor's zone from the next page on.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !document.cookie.includes("stepwell_zone=" + zone)) {
    document.cookie = "stepwell_zone=" + zone + "; path=/ui/; max-age=31536000; samesite=strict";
  }

  // What is out of date is loaded anew, and what differs takes its place; what is open or has the focus stays so.
  let loading = false, again = false, cost = 0, over = false, failed = 0;
  const keyOf = (d) => {
    const row = d.closest("tr[id], li[id], article, section[id]");
    const before = d.closest("tr.more")?.previousElementSibling;
    return (before?.id || row?.id || "") + "/" + (d.dataset.key || "");
  };
  const busyIn = (part) => {
    const at = document.activeElement;
    return at && part.contains(at) && at.matches("input:not([type=checkbox]), textarea, select");
  };
  const take = (part, fresh) => {
    if (part.outerHTML === fresh.outerHTML || busyIn(part)) return;
    const marked = getSelection();
    if (marked && !marked.isCollapsed && part.contains(marked.anchorNode)) return; // somebody is about to copy it
    if (part.getAttribute("role") === "status") { // or it would not be read out
      if (part.textContent !== fresh.textContent) part.textContent = fresh.textContent;
      return;
    }
    const open = new Map(all("details", part).map((d) => [keyOf(d), d.open]));
    const chosen = new Set(all("input:checked", part).map((i) => i.value));
    const at = document.activeElement;
    const focus = at && part.contains(at) ? { id: at.id, href: at.getAttribute("href"), key: at.tagName === "SUMMARY" ? keyOf(at.parentElement) : null } : null;
    const tails = all("pre", part).map((p) => p.scrollTop);
    part.replaceWith(fresh);
    for (const d of all("details", fresh)) if (open.has(keyOf(d))) d.open = open.get(keyOf(d));
    for (const i of all("input[type=checkbox]", fresh)) if (chosen.has(i.value)) i.checked = true;
    all("pre", fresh).forEach((p, i) => { if (p.matches(".tail")) p.scrollTop = p.scrollHeight; else if (tails[i]) p.scrollTop = tails[i]; });
    if (focus) {
      const to = (focus.id && document.getElementById(focus.id)) ||
        (focus.href && all("a[href]", fresh).find((a) => a.getAttribute("href") === focus.href)) ||
        (focus.key && all("details", fresh).find((d) => keyOf(d) === focus.key)?.firstElementChild);
      to?.focus({ preventScroll: true });
    }
    dress(fresh);
  };
  const refresh = async () => {
    if (loading) { again = true; return; }
    loading = true;
    const began = performance.now();
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
      failed++;
      if (answer.ok) {
        failed = 0;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const part of all("[data-part]")) {
          const fresh = page.getElementById(part.id);
          if (fresh) take(part, document.importNode(fresh, true));
        }
        for (const fresh of all("[data-part]", page)) {
          if (!document.getElementById(fresh.id)) { // a part that was not there before
            const before = fresh.previousElementSibling && document.getElementById(fresh.previousElementSibling.id);
            if (before) { const n = document.importNode(fresh, true); before.after(n); dress(n); }
          }
        }
        over = over || (!!$("#run") && !$("#run[data-live]", page));
        body.dataset.fresh = String(1 + Number(body.dataset.fresh || 0));
      }
    } catch { failed++; } // the next time
    const stale = $("#stale");
    const word = failed > 1 ? "· This page could not be refreshed: the server does not answer, or you are logged out." : "";
    if (stale && stale.textContent !== word) stale.textContent = word;
    cost = performance.now() - began;
    setTimeout(() => { loading = false; if (again) { again = false; refresh(); } }, Math.min(Math.max(200, 4 * cost), 10000));
  };

  // A run is followed while it is looked at; lists are loaded anew now and then.
  let source = null;
  const run = $("#run[data-live]");
  const listen = () => {
    if (!run || source || over || document.hidden) return;
    source = new EventSource(run.dataset.live);
    source.addEventListener("change", refresh);
    source.addEventListener("end", () => { source.close(); source = null; over = true; refresh(); });
  };
  const tick = () => {
    if (document.hidden || over || dialog) return;
    if ($("[data-part]") && (run || /^(overview|runs|workflows|versions|workers|worker|hooks|family|failures)$/.test(body.dataset.view))) refresh();
  };
  setInterval(tick, 5000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { source?.close(); source = null; } else { tick(); listen(); }
  });
  addEventListener("pagehide", () => { source?.close(); source = null; });
  listen();

  // A stream's text grows as it is written.
  const text = $("pre[data-stream]");
  if (text) {
    const state = $("#stream-state");
    const follow = new EventSource(text.dataset.stream);
    const most = 2_000_000;
    text.scrollTop = text.scrollHeight;
    if (state) state.textContent = "Following: new chunks appear as they are written.";
    follow.addEventListener("text", (e) => {
      const down = text.scrollTop + text.clientHeight >= text.scrollHeight - 40;
      text.append(JSON.parse(e.data));
      if (text.textContent.length > most) text.textContent = "…" + text.textContent.slice(-most / 2);
      if (down) text.scrollTop = text.scrollHeight;
    });
    follow.addEventListener("end", () => { follow.close(); if (state) state.textContent = "This is its end."; });
    addEventListener("pagehide", () => follow.close());
  }

  // Small comforts.
  function dress(from) {
    for (const b of all("button[data-copy]", from)) {
      if (!navigator.clipboard) continue;
      b.hidden = false;
      b.addEventListener("click", async () => {
        await navigator.clipboard.writeText(document.getElementById(b.dataset.copy).textContent);
        b.textContent = "Copied";
        setTimeout(() => { b.textContent = "Copy"; }, 1500);
      });
    }
    for (const p of all("pre.tail", from)) p.scrollTop = p.scrollHeight;
  }
  dress(document);

  // What asks first does so over the page: it is the page that asks without scripts, shown in a dialog.
  let dialog = null;
  const ask = async (from, url, options) => {
    const page = await (async () => {
      try {
        const answer = await fetch(url, { credentials: "same-origin", redirect: "error", ...options });
        return new DOMParser().parseFromString(await answer.text(), "text/html");
      } catch { return null; }
    })();
    const main = page && $("main", page);
    if (!main) { location.href = location.href; return; } // logged out, or the server is away: the page says so
    dialog?.remove();
    dialog = document.createElement("dialog");
    $(".crumbs", main)?.remove();
    for (const child of [...main.children]) dialog.append(document.importNode(child, true));
    const title = $("h1", dialog);
    if (title) { title.id = "dialog-h"; dialog.setAttribute("aria-labelledby", title.id); }
    for (const a of all(".buttons a, p > a", dialog)) {
      if (!a.closest("table")) a.addEventListener("click", (e) => { e.preventDefault(); dialog.close(); });
    }
    dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => { dialog.remove(); dialog = null; (document.contains(from) ? from : $("#main"))?.focus(); });
    body.append(dialog);
    dialog.showModal();
  };
  document.addEventListener("click", (e) => {
    const a = e.target.closest('#acts a[href$="/act/cancel"], #acts a[href$="/act/pause"]');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
    e.preventDefault();
    ask(a, a.href);
  });
  document.addEventListener("submit", (e) => {
    if (!e.target.matches("form[data-dialog]")) return;
    e.preventDefault();
    ask(e.submitter, e.target.action, { method: "POST", body: new URLSearchParams(new FormData(e.target, e.submitter)) });
  });

  // A stretch of a timeline that is drawn to scale is looked into by marking it on the axis.
  let mark = null;
  document.addEventListener("pointerdown", (e) => {
    const ticks = e.target.closest(".timeline[data-linear] th.axis")?.querySelector(".ticks");
    if (!ticks || e.button) return;
    e.preventDefault();
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    rect.setAttribute("class", "marked");
    rect.setAttribute("height", "16");
    ticks.append(rect);
    mark = { ticks, rect, box: ticks.getBoundingClientRect(), from: e.clientX };
  });
  const marked = (e) => {
    const place = (x) => Math.min(Math.max((x - mark.box.left) / mark.box.width, 0), 1);
    return [place(mark.from), place(e.clientX)].sort((a, b) => a - b);
  };
  document.addEventListener("pointermove", (e) => {
    if (!mark) return;
    const [a, b] = marked(e);
    mark.rect.setAttribute("x", a * 100 + "%");
    mark.rect.setAttribute("width", (b - a) * 100 + "%");
  });
  document.addEventListener("pointerup", (e) => {
    if (!mark) return;
    const [a, b] = marked(e), at = mark.ticks.closest(".timeline").dataset;
    mark.rect.remove();
    mark = null;
    if (b - a < 0.01) return;
    const begin = Number(at.zoomBegin), length = Number(at.zoomLength), to = new URL(at.zoomBase, location.href);
    to.searchParams.set("zoom", Math.floor(begin + a * length) + "-" + Math.ceil(begin + b * length + 1));
    location.href = to;
  });

  // Keys, where nothing is being typed.
  let went = 0, row = -1;
  document.addEventListener("keydown", (e) => {
    if (dialog || body.dataset.keys === "off" || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) {
      if (e.key === "Escape") e.target.blur();
      return;
    }
    const go = Date.now() - went < 1500;
    went = 0;
    if (go) {
      const to = $('.top nav a[data-key="' + CSS.escape(e.key) + '"]');
      if (to) { e.preventDefault(); to.click(); }
      return;
    }
    switch (e.key) {
      case "g": went = Date.now(); break;
      case "/": { const find = $("#find"); if (find) { e.preventDefault(); find.focus(); find.select(); } break; }
      case "?": if ($("#find")) location.href = "/ui/keys"; break;
      case "j": case "k": {
        const rows = all("table.runs tbody tr, .timeline tr.entry, .events > li, table.cards tbody tr").filter((r, i, list) => list.indexOf(r) === i);
        if (!rows.length) return;
        rows.forEach((r) => r.classList.remove("on"));
        row = Math.min(Math.max(row + (e.key === "j" ? 1 : -1), 0), rows.length - 1);
        rows[row].classList.add("on");
        const link = $("a[href]", rows[row]) || $("a[href]", rows[row].nextElementSibling || rows[row]);
        (link || rows[row]).focus({ preventScroll: true });
        rows[row].scrollIntoView({ block: "nearest" });
      }
    }
  });
})();
