// Draws a network, and says what hands do to it. It computes nothing: numbers, colours and words come with its properties.
const W = 680, H = 460, EDGE = 40; // of the drawing, and what is kept free around the parties
const between = (from, to, t) => from + (to - from) * t;
const FAR = 4; // pixels that a hand may shake before a click is a drag
const MANY = 500; // edges that are drawn as one: each as an element of its own would make a hand wait
const NEAR = 7; // from an edge, in units of the drawing: so near a click must be

export default {
  template: `
  <div class="network-view" :class="{ drawing: mode === 'draw', deleting: mode === 'delete' }">
    <svg ref="svg" viewBox="0 0 ${W} ${H}" preserveAspectRatio="xMidYMid meet" xmlns="http://www.w3.org/2000/svg"
         role="group" :aria-label="label" @pointermove="pull" @pointerup="drop($event, null)" @dblclick="add"
         @click="nearest_edge" @pointerleave="tip = null">
      <component :is="'style'">
        .nv-name { fill: var(--ink, #1f2430); font: 12px Roboto, sans-serif; text-anchor: middle; }
        .nv-inside { font: 600 12px Roboto, sans-serif; text-anchor: middle; dominant-baseline: central; }
        .nv-edge { stroke: var(--line, #b9c0ca); stroke-width: 1.6; }
        .nv-dashed { stroke-dasharray: 4 5; }
        .nv-said { stroke: var(--accent, #0072b2); stroke-width: 3; }
        .nv-lost { stroke: var(--lost, #a35200); stroke-dasharray: 3 6; }
        .nv-value { fill: var(--ink, #1f2430); font: 11px Roboto, sans-serif; text-anchor: middle;
                    paint-order: stroke; stroke: var(--ground, #ffffff); stroke-width: 4px; }
        .nv-rim { stroke: var(--ground, #ffffff); stroke-width: 1.5; }
        .nv-ring { fill: none; stroke: var(--alarm, #d55e00); stroke-width: 4; }
        .nv-awake { fill: none; stroke: var(--accent, #0072b2); stroke-width: 3; }
        .nv-group { stroke-linecap: round; fill: none; }
      </component>
      <defs>
        <marker v-for="kind in ['said', 'lost']" :id="uid + kind" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5"
                markerHeight="5" orient="auto-start-reverse">
          <path d="M 0 0 L 10 5 L 0 10 z" :style="{ fill: kind === 'said' ? 'var(--accent, #0072b2)' : 'var(--lost, #a35200)' }"/>
        </marker>
      </defs>
      <rect class="nv-ground" x="0" y="0" width="${W}" height="${H}" fill="transparent"/>
      <g v-for="(group, k) in groups" :key="'g' + k" class="nv-group" opacity="0.16" :stroke="group.colour">
        <path :d="path(group.edges) + path(group.nodes.map((a) => [a, a]))" :stroke-width="2.6 * radius + 14"/>
      </g>
      <g v-if="many" class="nv-edge nv-all" fill="none"><path v-for="(some, k) in bundles" :key="'b' + k" :d="path(some)"/></g>
      <g v-for="e in lines" :key="e.a + '-' + e.b" class="nv-edge-hit" tabindex="-1" role="button"
         :aria-label="'edge ' + nodes[e.a].name + ' to ' + nodes[e.b].name" @click="edge(e)" @keydown="edge_key($event, e)"
         @pointerenter="hover($event, e.tip)" @pointerleave="tip = null">
        <line :x1="px(e.a)" :y1="py(e.a)" :x2="px(e.b)" :y2="py(e.b)" stroke="transparent" stroke-width="14"/>
        <line class="nv-edge" :class="{ 'nv-dashed': e.dashed }" :x1="px(e.a)" :y1="py(e.a)" :x2="px(e.b)" :y2="py(e.b)"
              :style="e.width ? { strokeWidth: e.width } : {}"/>
      </g>
      <template v-for="e in lines"><text v-if="e.text" class="nv-value nv-on" v-bind="along(e)">{{ e.text }}</text></template>
      <g v-for="m in frame.messages" :key="'m' + m.a + '-' + m.b" class="nv-message">
        <line class="nv-said" :class="{ 'nv-lost': m.lost }" v-bind="arrow(m)"
              :marker-end="'url(#' + uid + (m.lost ? 'lost' : 'said') + ')'"/>
        <text v-if="m.text" class="nv-value" v-bind="beside(m)">{{ m.text }}</text>
      </g>
      <line v-if="rubber" class="nv-said" :x1="px(rubber.i)" :y1="py(rubber.i)" :x2="rubber.x" :y2="rubber.y"/>
      <g v-for="(v, i) in shown" :key="'n' + i" class="nv-node" tabindex="0" role="button" :data-party="v.name"
         :data-disclosed="v.ring ? 'yes' : 'no'" :data-corrupt="v.corrupt ? 'yes' : 'no'" :data-fill="v.fill"
         :aria-pressed="v.corrupt ? 'true' : 'false'" :aria-label="v.tip" :transform="'translate(' + px(i) + ' ' + py(i) + ')'"
         @pointerdown="grab($event, i)" @pointerup.stop="drop($event, i)" @keydown="node_key($event, i)"
         @pointerenter="hover($event, v.tip)" @pointerleave="tip = null" @focus="hover_at(i, v.tip)" @blur="tip = null"
         @dblclick.stop="">
        <circle v-if="v.ring" class="nv-ring" :r="radius + 6"/>
        <circle v-if="frame.awake && frame.awake.includes(i)" class="nv-awake" :r="radius + 4"/>
        <rect v-if="v.corrupt" class="nv-rim" :x="-radius" :y="-radius" :width="2 * radius" :height="2 * radius" rx="4"
              :style="{ fill: 'var(--corrupt, #2b2f36)' }"/>
        <circle v-else class="nv-rim" :r="radius" :fill="fill(i)"/>
        <text v-if="inside(i)" class="nv-inside" :style="{ fontSize: size(i) + 'px', fill: v.corrupt ? 'var(--on-corrupt, #ffffff)' : ink(i) }">{{ inside(i) }}</text>
        <text v-if="named" class="nv-name" :y="radius + (v.ring ? 21 : 14)">{{ brief(v.name) }}</text>
        <circle v-if="start === i" class="nv-awake" :r="radius + 9" stroke-dasharray="4 4"/>
      </g>
    </svg>
    <div v-if="tip" class="network-tip" :style="{ left: tip.x + 'px', top: tip.y + 'px' }">{{ tip.text }}</div>
  </div>`,
  props: { nodes: Array, edges: Array, groups: Array, mode: String, label: String, fixed: Boolean },
  data() {
    return { held: null, focus: null, at: {}, rubber: null, tip: null, start: null, frame: {}, over: { nodes: {}, edges: {} }, uid: "nv" + Math.random().toString(36).slice(2) };
  },
  computed: {
    radius() {
      const n = this.nodes.length;
      return n <= 12 ? 19 : n <= 30 ? 15 : n <= 60 ? 10 : n <= 120 ? 7 : 5;
    },
    named() { return this.nodes.length <= 60; },
    shown() { return this.nodes.map((v, i) => ({ ...v, ...this.over.nodes[i] })); },
    places() { return this.nodes.map((_, i) => this.px(i).toFixed(1) + " " + this.py(i).toFixed(1)); },
    many() { return this.edges.length > MANY; },
    bundles() { // small ones: a path of thousands of lines takes a browser long
      const pairs = this.many ? this.edges.map((e) => [e.a, e.b]) : [];
      return Array.from({ length: Math.ceil(pairs.length / 50) }, (_, k) => pairs.slice(50 * k, 50 * k + 50));
    },
    lines() { return this.many ? [] : this.edges.map((e, k) => ({ ...e, ...this.over.edges[k] })); },
  },
  watch: { nodes() {
    if (this.focus !== null) { // whoever stands where a party was deleted by a key
      const next = Math.min(this.focus, this.nodes.length - 1);
      this.focus = null;
      this.$nextTick(() => this.$refs.svg.querySelectorAll(".nv-node")[next]?.focus());
    }
    this.at = {}; this.tip = null; this.over = { nodes: {}, edges: {} }; if (this.start !== null && this.start >= this.nodes.length) this.start = null; } },
  methods: {
    px(i) { const v = this.at[i] || this.nodes[i]; return EDGE + v.x * (W - 2 * EDGE); },
    py(i) { const v = this.at[i] || this.nodes[i]; return EDGE + v.y * (H - 2 * EDGE); },
    brief(name) { return name.length > 13 ? name.slice(0, 12) + "…" : name; },
    path(pairs) { // of lines; one from a party to itself is a point
      return pairs.map(([a, b]) => "M" + this.places[a] + "L" + this.places[b]).join("");
    },
    fill(i) { return (this.frame.fills && this.frame.fills[i]) || this.shown[i].fill; },
    ink(i) { return (this.frame.inks && this.frame.inks[i]) || this.shown[i].ink; },
    inside(i) {
      if (this.nodes.length > 30) return "";
      return this.frame.texts ? this.frame.texts[i] : this.shown[i].text;
    },
    size(i) { return Math.min(13, (2.4 * this.radius) / Math.max(3, this.inside(i).length) * 1.25); },
    point(event) {
      const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.$refs.svg.getScreenCTM().inverse());
      return { x: p.x, y: p.y };
    },
    place(p) {
      const within = (v) => Math.min(1, Math.max(0, v));
      return { x: within((p.x - EDGE) / (W - 2 * EDGE)), y: within((p.y - EDGE) / (H - 2 * EDGE)) };
    },
    arrow(m) { // from rim to rim, beside that of the answer
      const dx = this.px(m.b) - this.px(m.a), dy = this.py(m.b) - this.py(m.a), d = Math.hypot(dx, dy) || 1;
      const ux = dx / d, uy = dy / d, r = this.radius + 3, s = 4;
      return { x1: this.px(m.a) + ux * r - uy * s, y1: this.py(m.a) + uy * r + ux * s,
               x2: this.px(m.b) - ux * r - uy * s, y2: this.py(m.b) - uy * r + ux * s };
    },
    beside(m) {
      const l = this.arrow(m), d = Math.hypot(l.x2 - l.x1, l.y2 - l.y1) || 1;
      const ux = (l.x2 - l.x1) / d, uy = (l.y2 - l.y1) / d;
      return { x: l.x1 * 0.45 + l.x2 * 0.55 - uy * 10, y: l.y1 * 0.45 + l.y2 * 0.55 + ux * 10 + 4 };
    },
    along(e) { // half the way, or where the page says
      const t = e.at ?? 0.5;
      return { x: between(this.px(e.a), this.px(e.b), t), y: between(this.py(e.a), this.py(e.b), t) + (e.at === undefined ? -4 : 4) };
    },
    hover(event, text) {
      if (!text || this.held) return;
      const box = this.$el.getBoundingClientRect();
      this.tip = { text, x: Math.min(event.clientX - box.left + 14, box.width - 230), y: event.clientY - box.top + 14 };
    },
    hover_at(i, text) {
      const box = this.$el.getBoundingClientRect(), m = this.$refs.svg.getScreenCTM();
      const p = new DOMPoint(this.px(i), this.py(i)).matrixTransform(m);
      this.tip = { text, x: Math.min(p.x - box.left + 24, box.width - 230), y: p.y - box.top + 24 };
    },
    grab(event, i) {
      if (event.button !== 0) return;
      const p = this.point(event);
      this.tip = null;
      this.held = { i, x: event.clientX, y: event.clientY, dx: p.x - this.px(i), dy: p.y - this.py(i), far: false };
      if (!this.fixed && (this.mode === "draw" || event.shiftKey)) this.rubber = { i, x: p.x, y: p.y };
    },
    pull(event) {
      if (!this.held) return;
      const p = this.point(event);
      if (Math.hypot(event.clientX - this.held.x, event.clientY - this.held.y) > FAR) this.held.far = true;
      if (this.rubber) Object.assign(this.rubber, { x: p.x, y: p.y });
      else if (this.held.far) this.at = { ...this.at, [this.held.i]: this.place({ x: p.x - this.held.dx, y: p.y - this.held.dy }) };
    },
    drop(event, over) {
      const held = this.held, rubber = this.rubber;
      this.held = this.rubber = null;
      if (!held) return;
      if (rubber) {
        if (over !== null && over !== rubber.i) this.$emit("join", { i: rubber.i, j: over });
        else if (over === rubber.i && !held.far) this.begin(over);
      } else if (held.far) this.$emit("move", { i: held.i, ...this.at[held.i] });
      else if (over !== null && this.mode === "delete" && !this.fixed) this.$emit("remove", { i: over });
      else if (over !== null) this.$emit("mark", { i: over });
    },
    begin(i) { // an edge by two clicks, or two keys
      if (this.start === null) { this.start = i; return; }
      const [a, b] = [Math.min(this.start, i), Math.max(this.start, i)];
      const there = this.edges.some((e) => e.a === a && e.b === b);
      if (a !== b) this.$emit(there ? "cut" : "join", { i: a, j: b });
      this.start = null;
    },
    add(event) {
      if (this.fixed || this.mode === "delete") return;
      this.$emit("add", this.place(this.point(event)));
    },
    nearest_edge(event) { // where edges are drawn as one, the click says which was meant
      if (!this.many || this.mode !== "delete" || this.fixed || event.target.closest(".nv-node")) return;
      const p = this.point(event), off = ({ a, b }) => {
        const [x, y, dx, dy] = [this.px(a), this.py(a), this.px(b) - this.px(a), this.py(b) - this.py(a)];
        const t = Math.min(1, Math.max(0, ((p.x - x) * dx + (p.y - y) * dy) / (dx * dx + dy * dy || 1)));
        return Math.hypot(p.x - x - t * dx, p.y - y - t * dy);
      };
      const best = this.edges.reduce((one, other) => (off(other) < off(one) ? other : one));
      if (off(best) < NEAR) this.$emit("cut", { i: best.a, j: best.b });
    },
    edge(e) {
      if (this.mode === "delete" && !this.fixed) this.$emit("cut", { i: e.a, j: e.b });
    },
    edge_key(event, e) {
      if (this.fixed || !["Delete", "Backspace"].includes(event.key)) return;
      event.preventDefault();
      this.$emit("cut", { i: e.a, j: e.b });
    },
    node_key(event, i) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const v = this.nodes[i], within = (x) => Math.min(1, Math.max(0, x));
      if (event.key === "Enter" || event.key === " ") this.$emit("mark", { i });
      else if (this.fixed) return;
      else if (step) this.$emit("move", { i, x: within(v.x + 0.03 * step[0]), y: within(v.y + 0.03 * step[1]) });
      else if (event.key === "Delete" || event.key === "Backspace") { this.focus = i; this.$emit("remove", { i }); }
      else if (event.key === "e") this.begin(i);
      else if (event.key === "a") this.$emit("add", { x: within(v.x + 0.08), y: within(v.y + 0.08) });
      else if (event.key === "Escape") this.start = null;
      else return;
      event.preventDefault();
    },
    show_frame(frame) { this.frame = frame; },
    change(nodes, edges) { // of some, by number; a new drawing forgets them
      for (const [k, v] of Object.entries(nodes)) this.over.nodes[k] = { ...this.over.nodes[k], ...v };
      for (const [k, v] of Object.entries(edges)) this.over.edges[k] = { ...this.over.edges[k], ...v };
    },
  },
};
