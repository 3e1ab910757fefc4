// Moot in Rocket.Chat: `/moot`, buttons under permission questions, and questions about a message. Whatever is asked
// is posted in the name of who asks; Moot's accounts hear it as they hear everything, and answer.

import { App } from "@rocket.chat/apps-engine/definition/App";
import type {
  IConfigurationExtend,
  IHttp,
  IMessageBuilder,
  IModify,
  IPersistence,
  IRead,
} from "@rocket.chat/apps-engine/definition/accessors";
import type { IMessage, IPreMessageSentModify } from "@rocket.chat/apps-engine/definition/messages";
import { SettingType } from "@rocket.chat/apps-engine/definition/settings";
import type {
  IUIKitInteractionHandler,
  IUIKitResponse,
  UIKitActionButtonInteractionContext,
  UIKitBlockInteractionContext,
  UIKitViewSubmitInteractionContext,
} from "@rocket.chat/apps-engine/definition/uikit";

import { ASK_ABOUT, opened, submitted } from "./about";
import { offers, pressed, withBlocks } from "./buttons";
import { MootCommand } from "./command";
import { ACCOUNTS, say } from "./speech";

export class MootApp extends App implements IPreMessageSentModify, IUIKitInteractionHandler {
  protected async extendConfiguration(configuration: IConfigurationExtend): Promise<void> {
    await configuration.settings.provideSetting({
      id: ACCOUNTS,
      type: SettingType.STRING,
      packageValue: "",
      required: true,
      public: false,
      i18nLabel: "accounts",
      i18nDescription: "accounts_description",
    });
    await configuration.slashCommands.provideSlashCommand(new MootCommand());
    configuration.ui.registerButton(ASK_ABOUT);
  }

  async checkPreMessageSentModify(message: IMessage, read: IRead, _: IHttp): Promise<boolean> {
    return offers(message, read);
  }

  async executePreMessageSentModify(message: IMessage, builder: IMessageBuilder): Promise<IMessage> {
    return withBlocks(message, builder, this.getID());
  }

  async executeBlockActionHandler(
    context: UIKitBlockInteractionContext,
    read: IRead,
    _: IHttp,
    __: IPersistence,
    modify: IModify,
  ): Promise<IUIKitResponse> {
    const choice = await pressed(context, read);
    if (choice) await say(choice.words, context.getInteractionData().user, choice.place, read, modify);
    return context.getInteractionResponder().successResponse();
  }

  async executeActionButtonHandler(
    context: UIKitActionButtonInteractionContext,
    _: IRead,
    __: IHttp,
    persistence: IPersistence,
  ): Promise<IUIKitResponse> {
    return (await opened(context, this.getID(), persistence)) ?? context.getInteractionResponder().successResponse();
  }

  async executeViewSubmitHandler(
    context: UIKitViewSubmitInteractionContext,
    read: IRead,
    _: IHttp,
    persistence: IPersistence,
    modify: IModify,
  ): Promise<IUIKitResponse> {
    return submitted(context, read, persistence, modify);
  }
}
