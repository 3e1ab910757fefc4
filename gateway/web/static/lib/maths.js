// @ts-check
// Formulas in LaTeX as MathML, which browsers draw by themselves. The rule of what is one is that of
// bots/markdown/parser.py; a formula with what is not known here stands as its source.

import { h } from "./dom.js";

const SPACE = "http://www.w3.org/1998/Math/MathML";
const DEEPEST = 60;

const FORMULA =
  /\\\((?<inline>[^\n]*?)\\\)|\\\[(?<bracketed>[^\n]*?)\\\](?![([])|(?<!\$)\$\$(?<dollars>[^\n$]+)\$\$(?!\$)/y;
const SIGN = /[\^_=+<>{}|*/\u0370-\u03ff\u2190-\u22ff]|\\[A-Za-z,;]/;
const ESCAPE = /(?<!\\)\\[.*_#+()[~`<>=-]/;
const TERM = /^\s*[A-Za-z0-9.,'()-]+\s*$/;
/** @type {Record<string, string>} */
const CLOSERS = { "\\[": "\\]", $$: "$$" };

const TOKEN = /\\(?:text|mathrm|operatorname)\s*\{[^{}]*\}|\\(?:[A-Za-z]+|.)|\d+(?:\.\d+)?|[^\s\\]/gsu;

/** @param {string} words */
const pairs = (words) => Object.fromEntries(words.split(" ").map((pair) => pair.split("=")));

/** @type {Record<string, string>} */
const LETTERS = pairs(
  "alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η " +
    "theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ " +
    "nu=ν xi=ξ pi=π rho=ρ sigma=σ tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ " +
    "psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ " +
    "Xi=Ξ Pi=Π Sigma=Σ Phi=Φ Psi=Ψ Omega=Ω ell=ℓ hbar=ℏ infty=∞ partial=∂ " +
    "nabla=∇ emptyset=∅ Re=ℜ Im=ℑ aleph=ℵ",
);
/** @type {Record<string, string>} */
const SIGNS = pairs(
  "cdot=⋅ times=× div=÷ pm=± mp=∓ ast=∗ circ=∘ oplus=⊕ otimes=⊗ leq=≤ " +
    "le=≤ geq=≥ ge=≥ neq=≠ ne=≠ approx=≈ equiv=≡ sim=∼ " +
    "simeq=≃ propto=∝ ll=≪ gg=≫ in=∈ notin=∉ subset=⊂ subseteq=⊆ supset=⊃ " +
    "supseteq=⊇ cup=∪ cap=∩ setminus=∖ forall=∀ " +
    "exists=∃ neg=¬ lnot=¬ land=∧ wedge=∧ lor=∨ vee=∨ to=→ rightarrow=→ " +
    "leftarrow=← leftrightarrow=↔ Rightarrow=⇒ " +
    "Leftarrow=⇐ Leftrightarrow=⇔ iff=⟺ implies=⟹ mapsto=↦ langle=⟨ " +
    "rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ mid=∣ " +
    "parallel=∥ perp=⊥ dots=… ldots=… cdots=⋯ vdots=⋮ ddots=⋱ prime=′ " +
    "angle=∠ therefore=∴ because=∵ lvert=| rvert=| " +
    "lVert=‖ rVert=‖ colon=: models=⊨ vdash=⊢ top=⊤ bot=⊥",
);
/** @type {Record<string, string>} */
const LARGE = pairs("sum=∑ prod=∏ int=∫ iint=∬ oint=∮ bigcup=⋃ bigcap=⋂ bigoplus=⨁ coprod=∐");
/** @type {Record<string, string>} */
const ACCENTS = pairs("hat=^ bar=¯ overline=¯ vec=→ tilde=~ dot=˙ ddot=¨ widehat=^ widetilde=~");
/** @type {Record<string, string>} */
const BOARD = pairs("C=ℂ H=ℍ N=ℕ P=ℙ Q=ℚ R=ℝ Z=ℤ E=𝔼 F=𝔽");
const FUNCTIONS = new Set(
  (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd " +
    "inf ker lg lim liminf limsup ln log max min mod " +
    "Pr sec sin sinh sup tan tanh"
  ).split(" "),
);
/** @type {Record<string, string>} */
const SPACES = { ",": "0.17em", ":": "0.22em", ";": "0.28em", "!": "-0.17em", " ": "0.3em", quad: "1em", qquad: "2em" };
/** @type {Record<string, [string, string]>} */
const FENCES = {
  matrix: ["", ""],
  pmatrix: ["(", ")"],
  bmatrix: ["[", "]"],
  vmatrix: ["|", "|"],
  cases: ["{", ""],
  aligned: ["", ""],
  align: ["", ""],
  array: ["", ""],
};

/** @param {string} text */
const isFormula = (text) => SIGN.test(text) && !ESCAPE.test(text);

/**
 * The formula that begins at a place of a line, and where it ends; null: none does.
 * @param {string} text
 * @param {number} at
 */
export function formulaAt(text, at) {
  FORMULA.lastIndex = at;
  const found = FORMULA.exec(text);
  if (!found?.groups) return null;
  const { inline, bracketed, dollars } = found.groups;
  const formula = inline ?? bracketed ?? dollars;
  if (!isFormula(formula) && !(inline !== undefined && TERM.test(inline))) return null;
  return { node: drawn(formula, found[0], inline === undefined), end: at + found[0].length };
}

/**
 * The formula on lines of its own that begins with a line, and the line behind it; null: none does.
 * @param {string[]} lines
 * @param {number} from
 */
export function formulaLines(lines, from) {
  const [first] = /^ {0,3}(?:\\\[|\$\$)/.exec(lines[from]) ?? [""];
  const closer = CLOSERS[first.trim()];
  if (!closer) return null;
  for (let to = from; to < lines.length && lines[to].trim(); to += 1) {
    if (!(to === from ? lines[to].slice(first.length) : lines[to]).includes(closer)) continue;
    const source = lines
      .slice(from, to + 1)
      .join("\n")
      .trim();
    const formula = source.slice(2, -2);
    if (!source.endsWith(closer) || !isFormula(formula)) return null;
    return { node: h("p", {}, drawn(formula, source, true)), end: to + 1 };
  }
  return null;
}

/**
 * @param {string} formula
 * @param {string} source
 * @param {boolean} block
 */
function drawn(formula, source, block) {
  try {
    const math = element("math", new Reader(formula.match(TOKEN) ?? []).row());
    if (block) math.setAttribute("display", "block");
    math.setAttribute("aria-label", formula.trim());
    return math;
  } catch (error) {
    if (error instanceof Unknown) return h("code", {}, source);
    throw error;
  }
}

/** A formula with more than is known here. */
class Unknown extends Error {}

/**
 * @param {string} tag
 * @param {...(Node | string)} children
 */
function element(tag, ...children) {
  const made = document.createElementNS(SPACE, tag);
  made.append(...children);
  return made;
}

class Reader {
  /** @param {string[]} tokens */
  constructor(tokens) {
    this.tokens = tokens;
    this.at = 0;
    this.depth = 0;
  }

  get next() {
    return this.tokens[this.at];
  }

  take() {
    if (this.at >= this.tokens.length) throw new Unknown();
    this.at += 1;
    return this.tokens[this.at - 1];
  }

  /**
   * Everything up to one of these signs, which stays, or to the end.
   * @param {string[]} ends
   */
  row(...ends) {
    this.depth += 1;
    if (this.depth > DEEPEST) throw new Unknown();
    const made = element("mrow");
    while (this.at < this.tokens.length && !ends.includes(this.next)) made.append(this.scripted());
    if (ends.length && this.at >= this.tokens.length) throw new Unknown();
    this.depth -= 1;
    return made;
  }

  /** An atom with what stands above and below it. */
  scripted() {
    const large =
      this.next.slice(1) in LARGE || this.next === "\\lim" || this.next === "\\max" || this.next === "\\min";
    const base = this.atom();
    /** @type {Element | undefined} */
    let under;
    /** @type {Element | undefined} */
    let over;
    for (; this.next === "_" || this.next === "^" || this.next === "'";) {
      const sign = this.take();
      if (sign === "_" && !under) under = this.atom();
      else if (sign === "^" && !over) over = this.atom();
      else if (sign === "'" && !over) over = element("mo", "′");
      else throw new Unknown();
    }
    if (under && over) return element(large ? "munderover" : "msubsup", base, under, over);
    if (under) return element(large ? "munder" : "msub", base, under);
    return over ? element(large ? "mover" : "msup", base, over) : base;
  }

  /** @returns {Element} */
  atom() {
    const token = this.take();
    if (token === "{") return this.group();
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^\d/.test(token)) return element("mn", token);
    if (/\p{L}/u.test(token)) return element("mi", token);
    if ("}^_&#%$~".includes(token)) throw new Unknown();
    return element("mo", token === "-" ? "−" : token === "*" ? "∗" : token);
  }

  group() {
    const made = this.row("}");
    this.at += 1;
    return made;
  }

  /** An argument's own words. */
  words() {
    if (this.take() !== "{") throw new Unknown();
    let words = "";
    while (this.next !== "}") words += this.take();
    this.at += 1;
    return words;
  }

  /**
   * @param {string} name
   * @returns {Element}
   */
  command(name) {
    if (Object.hasOwn(LETTERS, name)) return element("mi", LETTERS[name]);
    if (Object.hasOwn(SIGNS, name)) return element("mo", SIGNS[name]);
    if (Object.hasOwn(LARGE, name)) return element("mo", LARGE[name]);
    if (FUNCTIONS.has(name)) return element("mi", name);
    if (Object.hasOwn(ACCENTS, name)) return element("mover", this.atom(), element("mo", ACCENTS[name]));
    if (Object.hasOwn(SPACES, name)) return this.space(SPACES[name]);
    const words = /^(text|mathrm|operatorname)\s*\{(.*)\}$/s.exec(name);
    if (words) return element(words[1] === "text" ? "mtext" : "mi", words[2].replace(/ /g, "\u00a0"));
    if ("{}|#%$&_".includes(name)) return element("mo", name === "|" ? "‖" : name);
    switch (name) {
      case "frac":
      case "dfrac":
      case "tfrac":
        return element("mfrac", this.atom(), this.atom());
      case "binom":
        return element("mrow", element("mo", "("), this.over(), element("mo", ")"));
      case "sqrt":
        return this.root();
      case "mathbf":
      case "mathbb":
      case "mathcal":
        return this.lettered(name);
      case "left":
      case "right":
      case "big":
      case "Big":
        return this.fence();
      case "begin":
        return this.environment(this.words());
      default:
        throw new Unknown();
    }
  }

  /**
   * Letters of another alphabet: Unicode has them from U+1D400 on, with some holes.
   * @param {string} name
   */
  lettered(name) {
    const words = this.next === "{" ? this.words() : this.take();
    if (!/^[A-Za-z0-9]+$/.test(words)) throw new Unknown();
    if (name === "mathbb") return element("mi", [...words].map((one) => BOARD[one] ?? one).join(""));
    const made = element("mi", words);
    made.setAttribute("class", name);
    return made;
  }

  /** @param {string} width */
  space(width) {
    const made = element("mspace");
    made.setAttribute("width", width);
    return made;
  }

  over() {
    const made = element("mfrac", this.atom(), this.atom());
    made.setAttribute("linethickness", "0");
    return made;
  }

  root() {
    if (this.next !== "[") return element("msqrt", this.atom());
    this.at += 1;
    const degree = this.row("]");
    this.at += 1;
    return element("mroot", this.atom(), degree);
  }

  /** A bracket that is as high as what it holds. */
  fence() {
    const sign = this.take();
    if (sign === ".") return element("mrow");
    if (sign.startsWith("\\")) return this.command(sign.slice(1));
    return element("mo", sign);
  }

  /** @param {string} name */
  environment(name) {
    const kind = name.replace("*", "");
    if (!Object.hasOwn(FENCES, kind)) throw new Unknown();
    if (kind === "array") this.words();
    const table = element("mtable");
    let row = table.appendChild(element("mtr"));
    for (;;) {
      row.append(element("mtd", this.row("&", "\\\\", "\\end")));
      const sign = this.take();
      if (sign === "\\\\") row = table.appendChild(element("mtr"));
      if (sign === "\\end") break;
    }
    if (this.words() !== name) throw new Unknown();
    const [open, close] = FENCES[kind];
    return element("mrow", ...(open ? [element("mo", open)] : []), table, ...(close ? [element("mo", close)] : []));
  }
}
