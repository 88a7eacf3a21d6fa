import { porterStem } from "./porter.ts";

/** What is left of an English word, in lower case, when its form is taken away: `went`, `goes`, `going` → `go`. */
export function stemWord(word: string): string {
  const known = stemByWord.get(word);
  if (known !== undefined) return known;
  const stem = porterStem(irregularForms.get(word) ?? word);
  if (stemByWord.size >= stemsKeptMax) stemByWord.clear();
  stemByWord.set(word, stem);
  return stem;
}

/** Words repeat: a text of a thousand words has some three hundred, and most of the cost is Porter's. */
const stemByWord = new Map<string, string>();
const stemsKeptMax = 50_000;

const words = (written: string): string[] => written.trim().split(/\s+/);

/** Form → base, for the verbs and nouns whose forms Porter's rules don't reach. */
const irregularForms: ReadonlyMap<string, string> = new Map(
  words(`went:go gone:go goes:go bought:buy brought:bring thought:think taught:teach caught:catch fought:fight sought:seek
    made:make said:say told:tell sold:sell held:hold kept:keep slept:sleep felt:feel left:leave lost:lose met:meet
    paid:pay sent:send spent:spend built:build lent:lend meant:mean dealt:deal heard:hear stood:stand understood:understand
    understood:understand won:win found:find got:get gotten:get gave:give given:give took:take taken:take came:come
    became:become ran:run saw:see seen:see knew:know known:know grew:grow grown:grow threw:throw thrown:throw
    flew:fly flown:fly drew:draw drawn:draw wrote:write written:write drove:drive driven:drive rode:ride ridden:ride
    rose:rise risen:rise chose:choose chosen:choose spoke:speak spoken:speak broke:break broken:break woke:wake woken:wake
    wore:wear worn:wear tore:tear torn:tear swam:swim swum:swim sang:sing sung:sing began:begin begun:begin drank:drink
    drunk:drink ate:eat eaten:eat fell:fall fallen:fall forgot:forget forgotten:forget hid:hide hidden:hide bit:bite
    bitten:bite led:lead fed:feed bred:breed read:read sat:sit shot:shoot slid:slide stuck:stick struck:strike
    swept:sweep wept:weep hung:hang dug:dig spun:spin shook:shake shaken:shake stole:steal stolen:steal froze:freeze
    frozen:freeze blew:blow blown:blow showed:show shown:show did:do done:do had:have was:be were:be sewn:sew
    lay:lie laid:lay lit:light bent:bend bound:bind leapt:leap learnt:learn dreamt:dream burnt:burn
    children:child men:man women:woman people:person feet:foot teeth:tooth mice:mouse geese:goose wives:wife lives:life
    knives:knife leaves:leaf shelves:shelf wolves:wolf halves:half selves:self better:good best:good worse:bad worst:bad
    kids:child kid:child mom:mother mum:mother dad:father`).map((pair): [string, string] => {
    const [form = "", base = ""] = pair.split(":");
    return [form, base];
  }),
);
