// The pages work without this: it adds the search, the switch of colours, and the buttons that copy.
"use strict";
(() => {
	// Before anything is drawn: the colours that the reader chose.
	const marks = { "": ["◐", "Use dark colours"], dark: ["☾", "Use light colours"], light: ["☀", "Use the system's colours"] };
	const store = { get: () => { try { return localStorage.getItem("stepwell_theme") || ""; } catch { return ""; } }, set: (v) => { try { localStorage.setItem("stepwell_theme", v); } catch { /* it holds for this page */ } } };
	const dress = (theme) => {
		if (theme) document.documentElement.dataset.theme = theme;
		else delete document.documentElement.dataset.theme;
		for (const s of document.querySelectorAll("picture source")) s.media = theme === "dark" ? "all" : theme === "light" ? "not all" : "(prefers-color-scheme: dark)";
	};
	let theme = store.get();
	dress(theme);

	// words are those of a text, as the index has them.
	const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];

	// score says how well a section answers; 0 if a word is not in it.
	const score = (wanted, entry) => {
		let sum = 0;
		for (const w of wanted) {
			const fit = (list, whole, part) => Math.max(0, ...list.map((x) => (x === w ? whole : x.startsWith(w) ? part : 0)));
			const best = fit(entry.heading, 20, 12) + fit(entry.page, 8, 5) || (` ${entry.words}`.includes(` ${w}`) ? 2 : 0);
			if (!best) return 0;
			sum += best;
		}
		return sum;
	};

	document.addEventListener("DOMContentLoaded", () => {
		dress(theme);
		const button = document.querySelector("button.theme");
		const show = () => { [button.firstChild.textContent, button.lastChild.textContent] = marks[theme]; };
		show();
		button.hidden = false;
		button.addEventListener("click", () => {
			theme = { "": "dark", dark: "light", light: "" }[theme];
			store.set(theme);
			dress(theme);
			show();
		});

		const root = document.body.dataset.root, form = document.querySelector(".find"), input = document.querySelector("#find");
		const box = document.querySelector("#found"), list = box.querySelector("ol"), status = box.querySelector("p");
		form.hidden = false;
		let index;
		const load = () => (index ||= fetch(root + "search.json").then((r) => r.json()).then((all) => all.map(([href, page, heading, begin, text]) =>
			({ href, title: page, name: heading, begin, page: words(page), heading: words(heading), words: text }))));
		const find = async () => {
			const wanted = words(input.value);
			if (!wanted.length) { box.hidden = true; return; }
			const all = await load();
			if (wanted.join() !== words(input.value).join()) return; // it was typed on
			const hits = all.map((entry) => [score(wanted, entry), entry]).filter(([n]) => n).sort((a, b) => b[0] - a[0]).slice(0, 12);
			list.replaceChildren(...hits.map(([, { href, title, name, begin }]) => {
				const li = document.createElement("li"), a = document.createElement("a"), small = document.createElement("small");
				a.href = root + href;
				a.append(title === name ? title : `${title} › ${name}`, small);
				small.textContent = begin;
				li.append(a);
				return li;
			}));
			status.textContent = hits.length ? `${hits.length} ${hits.length === 1 ? "section" : "sections"}` : "Nothing has all these words.";
			box.hidden = false;
		};
		input.addEventListener("focus", load, { once: true });
		input.addEventListener("input", find);
		form.addEventListener("submit", async (e) => {
			e.preventDefault();
			await find();
			list.querySelector("a")?.click();
		});
		const close = () => { box.hidden = true; };
		document.addEventListener("click", (e) => { if (!box.contains(e.target) && !form.contains(e.target) || e.target.closest(".found a")) close(); });
		document.addEventListener("keydown", (e) => {
			if (e.key === "/" && !e.target.closest("input, textarea") && !e.ctrlKey && !e.metaKey && !e.altKey) {
				e.preventDefault();
				input.focus();
			} else if (e.key === "Escape" && !box.hidden) {
				close();
				input.focus();
			} else if ((e.key === "ArrowDown" || e.key === "ArrowUp") && !box.hidden) {
				const stops = [input, ...list.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
				if (at < 0) return;
				e.preventDefault();
				stops[(at + (e.key === "ArrowDown" ? 1 : -1) + stops.length) % stops.length].focus();
			}
		});

		for (const pre of document.querySelectorAll("main pre")) {
			if (!navigator.clipboard) break; // it is there on https and on this machine alone
			const copy = document.createElement("button");
			copy.type = "button";
			copy.className = "copy small";
			copy.textContent = "Copy";
			copy.addEventListener("click", async () => {
				const typed = [...pre.querySelectorAll("b")].map((b) => b.textContent.trimEnd()); // of a console: what is typed
				await navigator.clipboard.writeText(typed.length ? typed.join("\n") : pre.textContent);
				copy.textContent = "Copied";
				setTimeout(() => { copy.textContent = "Copy"; }, 1500);
			});
			const code = document.createElement("div");
			code.className = "code";
			pre.replaceWith(code);
			code.append(pre, copy);
		}
	});
})();
