// The values of the HTTP API, made from the server's models: python -m tests.page.api_types
// A time is a string in ISO 8601 with its zone.

declare namespace Api {
  interface AgentChoiceView {
    name: string;
    title: string;
    installed: boolean;
    takes_model: boolean;
    models: Array<string>;
    workspace: string;
    folders: Array<FolderChoiceView>;
  }

  interface AgentSessionView {
    id: string;
    persona: string;
    title: string;
    subtitle: string;
    overview: string;
    started_at: string;
    ended_at: string | null;
  }

  interface AlertView {
    text: string;
    since: string;
  }

  interface AnswerView {
    text: string;
    source: string;
    ended_by: string;
    tools: Array<string>;
  }

  interface BotSettingsView {
    name: string;
    platform: string;
    personas: Array<string>;
    require_mention: boolean;
  }

  interface BotView {
    name: string;
    platform: string;
    personas: Array<string>;
    state: string;
    since: string | null;
    event_at: string | null;
    error: string;
    error_at: string | null;
    restarts: number;
  }

  interface ChangeView {
    path: string;
    added: number;
    removed: number;
  }

  interface ClaimView {
    person_id: string;
    person_name: string;
    room_id: string;
    persona: string;
    at: string;
  }

  interface ConfiguredView {
    role: string;
    people: Array<string>;
    rooms: Array<string>;
    personas: Array<string>;
    where: string;
  }

  interface ConnectView {
    agents: Array<KnownAgentView>;
    personas: Array<ConnectedView>;
    folder: string;
  }

  interface ConnectedView {
    name: string;
    agent: string;
    workspace: string;
    shares_login: boolean;
  }

  interface ContentsView {
    people: string;
    given: Array<GivenView>;
    whose: Array<string>;
    first_at: string;
    last_at: string;
    since_reply: boolean;
    files: Array<string>;
  }

  interface DayView {
    day: string;
    turns: Record<string, number>;
    p50_ms: number | null;
    p95_ms: number | null;
    spent: Array<SpentView>;
    facts: number;
  }

  interface DaysView {
    days: Array<DayView>;
  }

  interface DiskView {
    free_bytes: number;
    total_bytes: number;
    database_bytes: number | null;
  }

  interface EffectView {
    act: string;
    gains: boolean;
    people: Array<string>;
    rooms: Array<string>;
    personas: Array<string>;
  }

  interface EmbedderView {
    state: string;
    download_mb: number;
    kept_mb: number;
    facts: number;
    embedded: number;
    refused: string;
    fault: string;
  }

  interface EntriesView {
    items: Array<EntryView>;
    next_before: number | null;
  }

  interface EntryView {
    seq: number;
    at: string;
    act: string;
    by: SpeakerView | null;
    persona: string | null;
    room_id: string | null;
    turn_id: string | null;
    detail: Record<string, string | number | boolean | null>;
    hash: string;
  }

  interface EpisodeView {
    seq: number;
    text: string;
    record: Record<string, string | Array<string>>;
    persona: string | null;
    plain: boolean;
    first_at: string | null;
    last_at: string | null;
    at: string;
  }

  interface FactView {
    seq: number;
    kind: string;
    text: string;
    person: string | null;
    person_name: string | null;
    origin: string | null;
    shared: boolean;
    said_at: string;
    replaced_by: number | null;
  }

  interface FactsView {
    items: Array<FactView>;
    next_before: number | null;
  }

  interface FileView {
    id: string | null;
    name: string;
    mime: string;
    size_bytes: number;
    url: string | null;
    image: boolean;
  }

  interface FindingView {
    severity: string;
    line: number;
    column: number;
    end_line: number;
    end_column: number;
    message: string;
    suggestion: string;
    key: string;
  }

  interface FolderChoiceView {
    name: string;
    path: string;
  }

  interface FoundView {
    facts: Array<FactView>;
    observations: Array<TitleView>;
    by: string;
  }

  interface GivenView {
    kind: string;
    n: number;
    items: Array<string>;
  }

  interface GrantView {
    seq: number;
    person_id: string;
    person_name: string;
    role: string;
    room_id: string | null;
    room_name: string | null;
    persona: string | null;
    where: string;
    by_name: string;
    at: string;
  }

  interface HealthView {
    ok: boolean;
    detail: Record<string, string>;
    store: string;
  }

  interface HitView {
    message_id: string;
    room_id: string;
    room_name: string;
    by: SpeakerView;
    at: string;
    text: string;
  }

  interface HitsView {
    words: Array<string>;
    items: Array<HitView>;
    next_before: number | null;
  }

  interface KnownAgentView {
    name: string;
    title: string;
    installed: boolean;
    install: string;
    needs: string;
    remedy: string;
    keys: Array<string>;
    has_key: boolean;
    shares: boolean;
    login: string;
    works_in_folder: boolean;
  }

  interface LandmarkView {
    seq: number;
    kind: string;
    text: string;
    by_name: string;
    message_id: string | null;
    at: string;
  }

  interface LeftOutView {
    layer: string;
    reason: string;
  }

  interface LoginView {
    title: string;
    fields: Array<SecretView>;
  }

  interface MemoryView {
    scopes: Array<string>;
    landmarks: Array<LandmarkView>;
    episodes: Array<EpisodeView>;
    facts: FactsView;
    observations: TitlesView;
    insights: Array<PersonView>;
    sessions: Array<AgentSessionView>;
  }

  interface MessageView {
    id: string;
    room_id: string;
    by: SpeakerView;
    text: string;
    at: string;
    edited_at: string | null;
    thread_id: string | null;
    reply_to: string | null;
    attachments: Array<FileView>;
    turn_id: string | null;
    draft: boolean;
    work: WorkView | null;
    fault: string | null;
  }

  interface NoteView {
    kind: string;
    text: string;
    used_at: string;
  }

  interface ObservationView {
    record: RecordView;
    timeline: Array<PlacedView>;
  }

  interface OptionView {
    label: string;
    refuses: boolean;
  }

  interface PairingView {
    code: string;
    person_id: string;
    person_name: string;
    room_id: string;
    persona: string | null;
    bot: string;
    at: string;
    expires_at: string;
  }

  interface PersonView {
    id: string;
    name: string;
    notes: Array<NoteView>;
  }

  interface PersonaView {
    name: string;
    description: string;
    agent: string;
    available: boolean;
    hint: string;
    accounts: Array<string>;
  }

  interface PlacedView {
    seq: number;
    id: string;
    kind: string;
    title: string;
    persona: string;
    at: string;
    here: boolean;
  }

  interface PlatformView {
    name: string;
    title: string;
    needs_url: boolean;
    logins: Array<LoginView>;
    person: string;
    docs: string;
  }

  interface PostView {
    key: string;
    message_id: string | null;
    state: string;
    at: string | null;
  }

  interface ProblemView {
    kind: string;
    name: string;
    text: string;
    remedy: string;
    grave: boolean;
  }

  interface ProposalView {
    diff: string;
    effects: Array<EffectView>;
    others: number;
    secrets: Array<string>;
    at_once: Array<string>;
    restart: Array<string>;
  }

  interface QuestionView {
    id: string;
    room_id: string;
    turn_id: string;
    persona: string;
    title: string;
    detail: string;
    options: Array<OptionView>;
    digest: string;
    may_answer: Array<SpeakerView> | null;
    at: string;
    expires_at: string | null;
    danger: string | null;
  }

  interface ReceiptView {
    message_id: string;
    room_id: string;
    duplicate: boolean;
    turn_ids: Array<string>;
    replies: Array<ReplyView> | null;
  }

  interface RecordView {
    seq: number;
    id: string;
    kind: string;
    title: string;
    persona: string;
    at: string;
    subtitle: string;
    facts: Array<string>;
    narrative: string;
    concepts: Array<string>;
    files: Array<string>;
    session_id: string;
    turn_id: string | null;
  }

  interface ReplyView {
    turn_id: string;
    persona: string;
    text: string;
    state: string;
    error: string | null;
  }

  interface ReportView {
    days: Array<SumView>;
    people: Array<SumView>;
    rooms: Array<SumView>;
    personas: Array<SumView>;
  }

  interface RoomLineView {
    id: string;
    name: string;
    kind: string;
    project: string | null;
    last_at: string | null;
    platform: string;
    people: Array<SpeakerView>;
    more_people: number;
    personas: Array<string>;
    messages: number;
    days: number;
    in_memory: boolean;
    models: Record<string, string>;
    follow: string;
    require_mention: boolean | null;
  }

  interface RoomView {
    id: string;
    name: string;
    kind: string;
    project: string | null;
    last_at: string | null;
  }

  interface ScoredView {
    text: string;
    score: number;
  }

  interface SecretView {
    key: string;
    title: string;
    hidden: boolean;
  }

  interface SectionView {
    name: string;
    text: string;
    source: string;
    items: Array<ScoredView>;
  }

  interface SessionLineView {
    id: string;
    persona: string;
    room_id: string;
    state: string;
    pid: number | null;
    started_at: string | null;
    terminal: boolean;
    worker: string;
    room_name: string;
    room_kind: string;
    agent: string;
    used_at: string;
    memory_bytes: number | null;
    cpu_s: number | null;
    tokens: number | null;
    cost_usd: number | null;
  }

  interface SessionView {
    id: string;
    persona: string;
    room_id: string;
    state: string;
    pid: number | null;
    started_at: string | null;
    terminal: boolean;
    worker: string;
  }

  interface SettingsView {
    file: string;
    exists: boolean;
    writable: boolean;
    base: string;
    fault: string;
    access: Record<string, unknown>;
    limits: Record<string, unknown>;
    bots: Array<BotSettingsView>;
    platforms: Array<PlatformView>;
    restart: Array<string>;
  }

  interface SpeakerView {
    id: string;
    name: string;
    kind: string;
    role: string | null;
  }

  interface SpentView {
    persona: string;
    input_tokens: number;
    output_tokens: number;
    cached_tokens: number;
    cost_usd: number | null;
  }

  interface StateView {
    state: string;
    at: string;
    detail: string;
  }

  interface StepView {
    mark: string;
    text: string;
    state: string;
    note: string;
    changes: Array<ChangeView>;
  }

  interface SumView {
    key: string;
    name: string;
    turns: number;
    seconds: number;
    input_tokens: number | null;
    output_tokens: number | null;
    cached_tokens: number | null;
    cost_usd: number | null;
  }

  interface SummaryView {
    ok: boolean;
    at: string;
    bots: Array<BotView>;
    problems: Array<ProblemView>;
    alerts: Array<AlertView>;
    alerts_told: boolean;
    questions: Array<QuestionView>;
    failed: Array<TurnLineView>;
    today: TodayView;
    sessions: number;
    asleep: number;
    most_sessions: number;
    disk: DiskView;
  }

  interface TimelineView {
    messages: Array<MessageView>;
    more: boolean;
    turns: Array<TurnView>;
    questions: Array<QuestionView>;
    newer: boolean;
  }

  interface TimingView {
    name: string;
    ms: number;
    after_ms: number | null;
  }

  interface TitleView {
    seq: number;
    id: string;
    kind: string;
    title: string;
    persona: string;
    at: string;
  }

  interface TitlesView {
    items: Array<TitleView>;
    next_before: number | null;
  }

  interface TodayView {
    turns: number;
    failed: number;
    p50_ms: number | null;
    waiting: number;
  }

  interface TodoView {
    mark: string;
    text: string;
    state: string;
  }

  interface ToldView {
    mark: string;
    text: string;
  }

  interface TriedView {
    answer: string;
    asked: Array<string>;
    seconds: number;
    trouble: string;
  }

  interface TrimView {
    section: string;
    what: string;
    chars: number;
  }

  interface TurnLineView {
    seq: number;
    id: string;
    at: string;
    state: string;
    persona: string;
    room_id: string;
    room_name: string;
    room_kind: string;
    person_id: string;
    person_name: string;
    command: boolean;
    total_ms: number | null;
    queued_ms: number | null;
    ready_ms: number | null;
    brief_ms: number | null;
    compose_ms: number | null;
    agent_ms: number | null;
    post_ms: number | null;
    error: string;
    tokens: number | null;
    cost_usd: number | null;
  }

  interface TurnPageView {
    items: Array<TurnLineView>;
    next_before: number | null;
  }

  interface TurnRecordView {
    id: string;
    room_id: string;
    persona: string;
    state: string;
    at: string;
    message_id: string | null;
    thread_id: string | null;
    session_id: string | null;
    ahead: number;
    draft: string;
    work: WorkView | null;
    status: string;
    error: string;
    agent: string;
    raw: Record<string, unknown>;
    header: string;
    sections: Array<SectionView>;
    knew: ContentsView;
    trims: Array<TrimView>;
    left_out: Array<LeftOutView>;
    timings: Array<TimingView>;
    states: Array<StateView>;
    answer: AnswerView | null;
    posts: Array<PostView>;
    hop: number;
    persona_version: number | null;
    retry_of: string | null;
    retried_as: string | null;
  }

  interface TurnView {
    id: string;
    room_id: string;
    persona: string;
    state: string;
    at: string;
    message_id: string | null;
    thread_id: string | null;
    session_id: string | null;
    ahead: number;
    draft: string;
    work: WorkView | null;
    status: string;
    error: string;
  }

  interface UnreadView {
    room_id: string;
    count: number;
    mentions: number;
    until: string;
  }

  interface VerdictView {
    ok: boolean;
    rows: number;
    erased: number;
    head: string;
    broken: string | null;
    broken_seq: number | null;
  }

  interface VersionView {
    number: number;
    why: string;
    by: SpeakerView | null;
    at: string;
  }

  interface WorkView {
    summary: string;
    steps: Array<StepView>;
    todos: Array<TodoView>;
    left_out: number;
  }
}
