// @ts-check
// One room's messages, turns and questions: what events and fetched stretches make of them.

import * as api from "../lib/api.js";

const STRETCH = 50;
const ENDED = new Set(["posted", "failed", "stopped"]);

export class Conversation {
  /** @param {string} roomId */
  constructor(roomId) {
    this.roomId = roomId;
    this.loaded = false;
    this.more = false;
    this.behind = false; // what is loaded ends before the newest message
    this.loading = Promise.resolve();
    /** @type {Array<[string, any]> | null} */
    this.meanwhile = null; // events that came during a load
    this.fetching = null; // the promise of an older stretch under way
    this.messages = new Map(); // id -> message
    this.turns = new Map(); // id -> turn that is open, or ended without an answer
    this.questions = new Map(); // id -> question; `closed` once it is
    this.gone = new Set(); // ids of deleted messages: a late stretch must not bring them back
    this.first = 0; // sequence of the oldest message: earlier ones count down
    this.last = 0;
    this.versions = 0;
  }

  get path() {
    return /** @type {const} */ (`/api/rooms/${encodeURIComponent(this.roomId)}/messages`);
  }

  /**
   * Fetch the newest stretch; again after a gap in the events. One load at a time.
   * @param {Api.TimelineView | null} given the stretch, where it is here already
   */
  load(given = null) {
    const load = this.loading.then(() => this.fetchNewest(given));
    this.loading = load.catch(() => {});
    return load;
  }

  /**
   * What happens while the stretch is under way may be newer than it: it is applied again.
   * @param {Api.TimelineView | null} given
   */
  async fetchNewest(given) {
    this.meanwhile = [];
    try {
      this.install(given ?? (await this.newestStretch()));
    } finally {
      const events = this.meanwhile;
      this.meanwhile = null;
      for (const [type, data] of events) this.apply(type, data);
    }
  }

  /** A room in which nobody has spoken yet is not there. */
  async newestStretch() {
    try {
      return await api.get(`${this.path}?limit=${STRETCH}`);
    } catch (error) {
      if (error.status !== 404) throw error;
      return { messages: [], more: false, turns: [], questions: [], newer: false };
    }
  }

  /** @param {Api.TimelineView} stretch */
  install(stretch) {
    const overlaps = stretch.messages.some((message) => this.messages.has(message.id));
    if (this.loaded && !overlaps) this.forget();
    if (!this.loaded || !overlaps) this.more = stretch.more;
    this.behind = false;
    this.dropMissing(stretch.messages);
    for (const message of stretch.messages) this.keep(message);
    this.turns = new Map(stretch.turns.map((turn) => [turn.id, turn]));
    const closed = [...this.questions.values()].filter((question) => question.closed);
    this.questions = new Map([...closed, ...stretch.questions].map((question) => [question.id, question]));
    this.loaded = true;
  }

  /** Drop what is stored; messages that were not taken yet stay. */
  forget() {
    for (const [id, message] of this.messages) if (!message.sending) this.messages.delete(id);
  }

  /**
   * What is known in a stretch's time and not in it was deleted meanwhile.
   * @param {Api.MessageView[]} stretch
   */
  dropMissing(stretch) {
    if (!stretch.length) return;
    const there = new Set(stretch.map((message) => message.id));
    const [from, to] = [Date.parse(stretch[0].at), Date.parse(stretch[stretch.length - 1].at)];
    for (const [id, message] of this.messages) {
      const inside = from <= message.time && message.time <= to;
      if (!message.sending && !there.has(id) && inside) this.messages.delete(id);
    }
  }

  /** Fetch the stretch before the oldest message; true when there was one. */
  older() {
    if (!this.more || this.fetching) return this.fetching ?? Promise.resolve(false);
    const before = this.sorted().find((message) => !message.sending)?.id;
    this.fetching = api
      .get(`${this.path}?limit=${STRETCH}&before=${encodeURIComponent(before ?? "")}`)
      .then((stretch) => {
        this.first -= stretch.messages.length;
        stretch.messages.forEach((message, index) => this.keep(message, this.first + index));
        this.more = stretch.more;
        return stretch.messages.length > 0;
      })
      .finally(() => {
        this.fetching = null;
      });
    return this.fetching;
  }

  /**
   * Fetch the stretch around a message in place of what is loaded.
   * @param {string} id
   */
  async around(id) {
    const stretch = await api.get(`${this.path}?limit=${STRETCH}&around=${encodeURIComponent(id)}`);
    this.forget();
    for (const message of stretch.messages) this.keep(message);
    this.more = stretch.more;
    this.behind = stretch.newer;
    this.loaded = true;
  }

  /** Fetch the stretch after the newest message that is loaded; true when there was one. */
  newer() {
    if (!this.behind || this.fetching) return this.fetching ?? Promise.resolve(false);
    const last = this.sorted().findLast((message) => !message.sending)?.id;
    this.fetching = api
      .get(`${this.path}?limit=${STRETCH}&after=${encodeURIComponent(last ?? "")}`)
      .then((stretch) => {
        for (const message of stretch.messages) this.keep(message);
        this.behind = stretch.newer;
        return stretch.messages.length > 0;
      })
      .finally(() => {
        this.fetching = null;
      });
    return this.fetching;
  }

  /**
   * @param {Api.MessageView & Partial<Page.Message>} message
   * @param {number} [sequence]
   */
  keep(message, sequence = (this.last += 1)) {
    if (this.gone.has(message.id)) return;
    const known = this.messages.get(message.id);
    const plain = JSON.stringify(message);
    if (known?.plain === plain) return; // the same again: what is drawn stays
    this.put({ ...message, plain, time: Date.parse(message.at), sequence: known?.sequence ?? sequence });
  }

  /**
   * `version` is new whenever something of a message changed.
   * @param {Omit<Page.Message, "version">} message
   */
  put(message) {
    this.versions += 1;
    this.messages.set(message.id, { ...message, version: this.versions });
  }

  /**
   * Take one event of this room.
   * @param {string} type
   * @param {any} data
   */
  apply(type, data) {
    this.meanwhile?.push([type, data]);
    switch (type) {
      case "message":
      case "edited":
        if (this.behind && !this.messages.has(data.message.id)) break; // it comes with its stretch
        this.keep(data.message);
        this.settle(data.message);
        break;
      case "deleted":
        this.gone.add(data.message_id);
        this.messages.delete(data.message_id);
        break;
      case "turn":
        this.turn(data.turn);
        break;
      case "draft":
        this.draft(data.turn_id, data.text);
        break;
      case "work":
        this.work(data.turn_id, data.work);
        break;
      case "typing":
        this.status(data.persona, data.status);
        break;
      case "question":
        this.questions.set(data.question.id, data.question);
        break;
      case "question_closed":
        this.close(data);
        break;
    }
  }

  /**
   * An answer takes the place of its turn's draft.
   * @param {Api.MessageView} message
   */
  settle(message) {
    if (message.turn_id && !message.draft && ENDED.has(this.turns.get(message.turn_id)?.state)) {
      this.turns.delete(message.turn_id);
    }
  }

  /** @param {Api.TurnView} turn */
  turn(turn) {
    const known = this.turns.get(turn.id);
    if (turn.state === "posted") {
      this.turns.delete(turn.id);
      return;
    }
    const since = turn.state === "running" && known?.state !== "running" ? turn.at : known?.since;
    this.turns.set(turn.id, {
      ...turn,
      draft: turn.draft || known?.draft || "",
      work: turn.work ?? known?.work ?? null,
      status: turn.status || (known?.state === turn.state && known?.status) || "",
      since,
    });
    this.closeFor(turn);
  }

  /**
   * Questions of a turn that ended cannot be answered any more.
   * @param {Api.TurnView} turn
   */
  closeFor(turn) {
    if (!ENDED.has(turn.state)) return;
    for (const question of this.questions.values()) {
      if (question.turn_id === turn.id && !question.closed) question.closed = { reason: turn.state };
    }
  }

  /**
   * @param {string} turnId
   * @param {Api.WorkView} work
   */
  work(turnId, work) {
    const turn = this.turns.get(turnId);
    if (turn) this.turns.set(turnId, { ...turn, work });
  }

  /**
   * @param {string} turnId
   * @param {string} text
   */
  draft(turnId, text) {
    const message = this.answerOf(turnId);
    if (message?.draft) this.put({ ...message, text, plain: null });
    const turn = this.turns.get(turnId);
    if (turn) this.turns.set(turnId, { ...turn, draft: text });
  }

  /**
   * @param {string} persona
   * @param {string} status
   */
  status(persona, status) {
    for (const [id, turn] of this.turns) {
      if (turn.persona === persona && turn.state === "running") this.turns.set(id, { ...turn, status });
    }
  }

  /** @param {{ question_id: string, option: number | null, by: Api.Person | null, reason: string }} data */
  close(data) {
    const question = this.questions.get(data.question_id);
    if (question) {
      this.questions.set(question.id, {
        ...question,
        closed: { option: data.option, by: data.by, reason: data.reason },
      });
    }
  }

  /** @param {string} turnId */
  answerOf(turnId) {
    return [...this.messages.values()].reverse().find((message) => message.turn_id === turnId);
  }

  /** Messages, oldest first. */
  sorted() {
    return [...this.messages.values()].sort((a, b) => a.time - b.time || a.sequence - b.sequence);
  }

  /** Turns to show below the messages: open ones, and those that ended without a word. */
  openTurns() {
    return [...this.turns.values()]
      .filter((turn) => !this.answerOf(turn.id))
      .sort((a, b) => Date.parse(a.since ?? a.at) - Date.parse(b.since ?? b.at));
  }

  get working() {
    return [...this.turns.values()].filter((turn) => !ENDED.has(turn.state));
  }

  get newest() {
    return (
      this.sorted()
        .filter((message) => !message.sending)
        .at(-1)?.at ?? null
    );
  }
}
