// The page's own values, and what the HTTP API answers beside the models of api.d.ts.

declare namespace Api {
  /** Somebody by their id, as a decision is signed. */
  interface Person {
    id: string;
    name: string;
  }

  /** Who is signed in. owner: they administer this Moot. */
  interface Me extends Person {
    role: string | null;
    owner: boolean;
    person: boolean;
    house_owner: Person | null;
  }

  /** What the page begins with. position: where the stream of events goes on. timeline: of #general. */
  interface Start {
    position: string;
    me: Me;
    rooms: RoomView[];
    personas: PersonaView[];
    people: SpeakerView[];
    commands: Command[];
    unread: UnreadView[];
    /** Whose newest stretch `timeline` is. */
    room_id: string;
    timeline: TimelineView;
  }

  interface PageUser extends Person {
    role: string | null;
    created_at: string;
    sessions: number;
  }

  interface Invitation {
    id: string;
    person_id: string;
    person_name: string;
    role: string | null;
    created_at: string;
    expires_at: string;
    by_name: string | null;
  }

  interface PageSession {
    id: string;
    person_id: string;
    person_name: string;
    created_at: string;
    seen_at: string;
    expires_at: string;
    user_agent: string;
    address: string;
    here: boolean;
  }

  interface PageToken {
    name: string;
    reads: string;
    created_at: string;
    used_at: string | null;
  }

  interface Command {
    name: string;
    aliases: string[];
    usage: string;
    says: string;
  }

  interface Access {
    rooms: string;
    dms: string;
    grants: GrantView[];
    configured: ConfiguredView[];
    pairings: PairingView[];
    claim: ClaimView | null;
  }

  /** next_at: null where it rests. why: what keeps it from running. */
  interface Schedule {
    id: number;
    room_id: string;
    persona: string;
    when: string;
    once: boolean;
    timezone: string;
    text: string;
    by: Person;
    configured: boolean;
    paused: boolean;
    why: string | null;
    next_at: string | null;
    ran_at: string | null;
  }

  /** moves_to: where the first edit copies the personas that come with Moot. */
  interface PersonaFolder {
    path: string;
    writable: boolean;
    moves_to: string | null;
  }

  interface PersonaCard {
    name: string;
    state: "good" | "broken" | "deleted";
    agent: string | null;
    description: string;
    version: VersionView | null;
    errors: number;
    warnings: number;
  }

  /** base: what the text is compared with when it is saved. */
  interface PersonaSheet extends PersonaCard {
    text: string;
    base: string;
    findings: FindingView[];
    values: PersonaValues;
  }

  /** Keys that have fields, as they are written; null: as no field can show it. */
  type PersonaValues = Record<"agent" | "model" | "workspace" | "sandbox" | "description", string | null>;

  /** text: with the change that was asked for. */
  interface PersonaChecked {
    usable: boolean;
    findings: FindingView[];
    values: PersonaValues;
    text?: string;
  }

  /** What an agent would be given for a message. */
  interface Preview {
    agent: string;
    available: boolean;
    hint: string;
    system: string;
    header: string;
    sections: Array<Pick<SectionView, "name" | "text" | "source">>;
    trims: TrimView[];
    missing: string[];
  }

  /** trouble: why there is no answer. asked: questions that were refused. */
  interface DryRun extends Preview {
    answer: string;
    asked: string[];
    tools: string[];
    seconds: number;
    trouble: string;
  }

  /** A file has changed since somebody began to edit it: its text now (null: deleted), and what theirs would change. */
  interface Conflict {
    text: string | null;
    base: string;
    diff: string;
  }

  /** The answer to a GET of a path. */
  type Answer<Path extends string> = Path extends `/api/rooms/${string}/messages${string}`
    ? TimelineView
    : Path extends `/api/rooms/${string}/memory`
      ? MemoryView
      : Path extends `/api/turns/${string}`
        ? TurnRecordView
        : Path extends `/api/audit?${string}`
          ? EntriesView
          : Path extends `/api/search?${string}`
            ? HitsView
            : Path extends `/api/admin/turns?${string}`
              ? TurnPageView
              : Path extends `/api/admin/statistics?${string}`
                ? DaysView
                : Path extends keyof Answers
                  ? Answers[Path]
                  : any;

  interface Answers {
    "/api/start": Start;
    "/api/me": Me;
    "/api/me/sessions": { sessions: PageSession[] };
    "/api/page/users": { users: PageUser[]; invitations: Invitation[] };
    "/api/page/sessions": { sessions: PageSession[] };
    "/api/page/tokens": { tokens: PageToken[] };
    "/api/rooms": { rooms: RoomView[] };
    "/api/unread": { rooms: UnreadView[] };
    "/api/personas": { personas: PersonaView[] };
    "/api/people": { people: SpeakerView[] };
    "/api/commands": { commands: Command[] };
    "/api/sessions": { sessions: SessionView[] };
    "/api/access": Access;
    "/api/schedules": { schedules: Schedule[] };
    "/api/audit/verify": VerdictView;
    "/api/personas/files": {
      folder: PersonaFolder;
      personas: PersonaCard[];
      agents: AgentChoiceView[];
    };
    "/api/admin/overview": SummaryView;
    "/api/admin/embedder": EmbedderView;
    "/api/settings": SettingsView;
    "/api/admin/connect": ConnectView;
    "/api/admin/rooms": { rooms: RoomLineView[] };
    "/api/admin/sessions": { sessions: SessionLineView[] };
  }
}

declare namespace Page {
  /** What `h` appends; lists are taken apart, what is not there is left out. */
  type Child = Node | string | number | null | undefined | false | Child[];
  type Attribute = string | number | boolean | null | undefined;
  type Listeners = { [Type in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Type]) => unknown };
  type Attributes = { on?: Listeners } & { [name: string]: Attribute | Listeners };

  /** Elements of index.html that are more than an HTMLElement. */
  interface Elements {
    text: HTMLTextAreaElement;
    files: HTMLInputElement;
    composer: HTMLFormElement;
    send: HTMLButtonElement;
    mark: HTMLImageElement;
    "stream-worker": HTMLMetaElement;
    "diagram-frame": HTMLMetaElement;
  }

  /** A person or a persona, as far as an avatar needs it. */
  type Figure = Pick<Api.SpeakerView, "id" | "name" | "kind">;

  /** A room that is shown; nobody may have spoken in it yet. */
  type Room = Api.RoomView;

  /** A message of a conversation. Only one that is on its way out has `sending`, `failed`, `to` and `extra`.
   * refused: it is not tried again by itself. */
  interface Message extends Api.MessageView {
    time: number;
    sequence: number;
    version: number;
    plain: string | null;
    sending?: boolean;
    failed?: string | null;
    refused?: boolean;
    to?: Room;
    extra?: Record<string, string>;
  }

  type Outgoing = Api.MessageView &
    Required<Pick<Message, "sending" | "to" | "extra">> &
    Pick<Message, "failed" | "refused">;

  /** since: when it began to run. asks: a question of it is open. */
  interface Turn extends Api.TurnView {
    since?: string;
    asks?: boolean;
  }

  /** closed: how it ended, once it has. */
  interface Question extends Api.QuestionView {
    closed?: { option?: number | null; by?: Api.Person | null; reason: string };
  }

  /** What a message replies to, as far as the message box needs it. */
  type Answered = Pick<Api.MessageView, "id" | "thread_id" | "by" | "text">;

  interface Draft {
    text: string;
    replyTo?: Answered | null;
    attachments?: Api.FileView[];
    extra?: Record<string, string>;
  }

  /** An attachment that is uploaded, or was; `reference` is what a message names it by. */
  interface Upload {
    name: string;
    size: number;
    reference: Api.FileView | null;
    error: string;
  }

  /** A suggestion below the message box. */
  interface Suggestion {
    name: string;
    shown: string;
    more: string;
    mark: Element;
    away?: boolean;
  }

  /** Something in the timeline. `make` draws it again when `signature` changes, unless it can update itself. */
  interface Item {
    key: string;
    signature: string;
    answer?: boolean;
    value?: Turn;
    make: () => Element | Shown;
  }

  /** answer: it may be long. folded: that was looked at. */
  interface Shown {
    element: Element;
    signature?: string;
    answer?: boolean;
    folded?: boolean;
    update?: (turn: Turn) => void;
  }

  /** A section of the administrator's side. probe: a path that is 404 where this Moot has not got it. */
  interface Section {
    name: string;
    title: string;
    probe?: string;
    ages?: boolean;
    hears?: Set<string>;
    load: (asked: { path: string; query: Record<string, string> }) => Promise<any>;
    draw: (data: any, context: Context) => Child[];
  }

  interface Context {
    path: string;
    query: Record<string, string>;
    refresh: () => void;
  }

  /** A step of a turn; after: milliseconds from its start, null where it is not known. */
  interface Step {
    name: string;
    ms: number;
    after: number | null;
  }

  interface Series {
    name: string;
    values: Array<number | null>;
    css?: string;
  }

  /** What a row of the memory's panel can do; null: it can't here. */
  interface RowActions {
    command: ((text: string) => void) | null;
    open: (id: string) => void;
    show: ((messageId: string) => void) | null;
  }
}

/** The address of a style sheet that the bundle keeps apart. */
declare module "*?sheet" {
  const address: string;
  export default address;
}

declare module "highlight.js/lib/common" {
  import hljs from "highlight.js";
  export default hljs;
}

/** What the script before it in diagram.html defines. */
declare const mermaid: {
  initialize(options: Record<string, unknown>): void;
  render(id: string, code: string): Promise<{ svg: string }>;
};
