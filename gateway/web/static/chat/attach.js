// @ts-check
// Files beside a message: chosen, dropped or pasted; uploaded at once, sent as references.

import { upload } from "../lib/api.js";
import { $, announce, h, icon } from "../lib/dom.js";
import { size } from "../lib/words.js";
import { t } from "../lib/i18n.js";

export class Attachments {
  /** @param {() => void} onChange told when a file comes, is uploaded, or goes */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Page.Upload[]} */
    this.entries = [];
    $("attach").append(icon("clip"));
    $("attach").addEventListener("click", () => $("files").click());
    $("files").addEventListener("change", () => {
      this.add($("files").files ?? []);
      $("files").value = "";
    });
    this.followDrag();
  }

  get references() {
    return this.entries.flatMap((entry) => entry.reference ?? []);
  }

  get busy() {
    return this.entries.some((entry) => !entry.reference && !entry.error);
  }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) this.start(file);
    this.draw();
  }

  /** @param {File} file */
  async start(file) {
    /** @type {Page.Upload} */
    const entry = { name: file.name, size: file.size, reference: null, error: "" };
    this.entries.push(entry);
    try {
      entry.reference = await upload(file);
      announce(t("{name} attached", { name: file.name }));
    } catch (error) {
      entry.error = error.message;
    }
    this.draw();
  }

  clear() {
    this.put([]);
  }

  /**
   * Show these and no others, which were uploaded before.
   * @param {Api.FileView[]} references
   */
  put(references) {
    this.entries = references.map((reference) => ({
      name: reference.name,
      size: reference.size_bytes,
      reference,
      error: "",
    }));
    this.draw();
  }

  draw() {
    $("pending").hidden = !this.entries.length;
    $("pending").replaceChildren(...this.entries.map((entry) => this.element(entry)));
    this.onChange();
  }

  /** @param {Page.Upload} entry */
  element(entry) {
    const { name, reference, error } = entry;
    const remove = h(
      "button",
      { type: "button", class: "icon-button small", "aria-label": t("Remove {name}", { name }) },
      icon("close"),
    );
    remove.addEventListener("click", () => {
      this.entries = this.entries.filter((other) => other !== entry);
      this.draw();
      $("text").focus();
    });
    const preview = reference?.image ? h("img", { src: reference.url, alt: "" }) : icon("file");
    const state = error || (reference ? size(entry.size) : t("uploading…"));
    return h(
      "li",
      { class: `file ${error ? "wrong" : ""}` },
      preview,
      h("span", { class: "file-name" }, name),
      h("span", { class: "row-more" }, state),
      remove,
    );
  }

  /**
   * Take files that were pasted; true when there were some.
   * @param {ClipboardEvent} event
   */
  paste(event) {
    const files = event.clipboardData?.files;
    if (!files?.length) return false;
    event.preventDefault();
    this.add(files);
    return true;
  }

  followDrag() {
    const room = $("room");
    /** @param {DragEvent} event */
    const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
    let depth = 0; // enter and leave come for every element inside
    const show = () => {
      $("drop").hidden = depth <= 0;
    };
    room.addEventListener("dragenter", (event) => {
      if (holdsFiles(event)) {
        depth += 1;
        show();
      }
    });
    room.addEventListener("dragleave", (event) => {
      if (holdsFiles(event)) {
        depth -= 1;
        show();
      }
    });
    room.addEventListener("dragover", (event) => {
      if (holdsFiles(event)) event.preventDefault();
    });
    room.addEventListener("drop", (event) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      depth = 0;
      show();
      this.add(event.dataTransfer?.files ?? []);
      $("text").focus();
    });
  }
}
