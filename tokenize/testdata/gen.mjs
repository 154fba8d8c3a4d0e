// Writes golden.json: token ids of texts by OpenAI's own tiktoken, in its WebAssembly build.
//
//   cd $(mktemp -d) && npm install tiktoken@1.0.22 && node …/tokenize/testdata/gen.mjs > …/tokenize/testdata/golden.json
//
// A case has a text, or bytes in base64 that are no UTF-8 and reach tiktoken as a TextDecoder reads them, or a text to
// repeat; ids, or for long ones their number and FNV-1a (32 bits, over the ids as little-endian 32-bit numbers).
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const require = createRequire(process.cwd() + '/');
const { get_encoding } = require('tiktoken');
const here = new URL('.', import.meta.url);
const read = (f) => readFileSync(new URL(f, here), 'utf8');
const encodings = ['cl100k_base', 'o200k_base'].map((n) => [n, get_encoding(n)]);

const texts = [
  '', ' ', '  ', '   ', '\n', '\n\n', '\r\n', '\r\n\r\n', '\t', '\t\t', ' \n', '\n ', ' \n ', '\n \n', 'a\n \nb', 'a\n\nb', 'a \n b',
  'a\r\n  \r\nb', 'a  \n\n  b', 'a\t\n\tb', 'x  y', 'x   y', 'x \ty', 'x\t y', 'x    ', 'x  \n', 'x\n  ', 'x\n\n  ', 'x \n \n  y', '  x',
  '    def f():\n        return 1\n', 'if x:\n\n\n\n    y\n', '\n\n\n\n\n\n\n\n\n\n', '\u00a0x', 'x\u00a0 y', 'x \u00a0y', '\u2003\u2003x', '\u3000全角',
  '\u0085x', 'x\u0085\ny', '\u2028a\u2029b', '\u200bzero\u200bwidth', '\ufeffbom', 'x\u000b\u000cy', 'a\u001fb', 'a\u180eb', ' \u1680 x',
  'Hello, world!', 'hello world', 'HELLO WORLD', 'HelloWorld', 'helloWorld', 'XMLHttpRequest', 'iPhone', 'McDonald', 'ABCdef', 'abcDEF', 'aB', 'Ab', 'ABc',
  "I'm you're he's we'll they'd I've don't", "I'M YOU'RE HE'S WE'LL THEY'D I'VE DON'T", "'s", "'S", "'t", "'re", "'RE", "'rE", "'ve", "'ll", "'lL", "'d", "'m", "'x",
  "'l", "'r", "'v", "'", "''", "''s", "a''s", "'sa", "'tis the", "o'clock", "rock'n'roll", "it'sn't", "x's's", "d'être", "l'été", "'\u017f", "a'\u017fb", "5's", "5 's", "é's",
  "it\u2019s", "\u2018quoted\u2019", "\u201cquoted\u201d", '1', '12', '123', '1234', '12345', '1234567890', '3.14159', '1,000,000', '2024-05-31', '12:34:56', '１２３４', '٣٤٥٦', '½¾', 'Ⅷ', '²³¹',
  'a1b2c3', '1st 2nd', '0x1F', '1e-9', '$5.00', '€5', '5%', 'v1.2.3', '100kB', '४५६७', '①②③④',
  '!', '!!', '!!!', '?!', '...', '…', '--', '---', '----------------', '=====', '****', '////', '//\n//', '/\n/', ' //', 'a//b', '/* c */', '#!/bin/sh\n', '# x\n\n', '!\n', '!\n\n', ' !\n', '!\r\n\r\nx', '!/\n/x',
  '<|endoftext|>', '<|im_start|>user<|im_end|>', '<|endofprompt|>', 'a<|endoftext|>b', '<|fim_prefix|>x<|fim_suffix|>',
  'null\0byte', '\0', '\0\0\0', 'a\0\nb', '\u0001\u0002\u0003', '\u007f',
  'café', 'cafe\u0301', 'naïve', 'Ünïcödé', 'ÀÉÎÕÜ', 'straße', 'STRASSE', 'ǅungla', 'ﬁne', 'ʰello', 'ªº', 'İstanbul', 'ıI',
  '日本語', '日本語ABC', 'ABC日本語', 'abc日本語def', '中文,标点。', '你好世界', '한국어', 'ㅎㅎㅎ', '안녕하세요 세계', 'ｶﾀｶﾅ', 'カタカナ ひらがな', '日本語テキスト123', '々〇',
  'Привет, мир', 'ПРИВЕТ', 'Ελληνικά', 'עברית', 'العربية', 'مَرْحَبًا', 'हिन्दी', 'नमस्ते दुनिया', 'ไทย', 'ภาษาไทย', 'தமிழ்', 'বাংলা', 'ქართული', 'Հայերեն', 'አማርኛ', 'Tiếng Việt', 'ខ្មែរ', 'བོད་ཡིག',
  '😀', '😀😀😀', '👩‍👩‍👧‍👦', '👍🏽', '🇩🇪🇫🇷', 'a😀b', ' 😀', '😀 ', '❤️', '☃', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '1️⃣', '𝒳𝓎𝓏', '𝐀𝐁𝐂', '𐍈', '𠀀𠀁', '\u{10ffff}', '\ue000', '\u0378', '\u{1f9ff}', '\u{323af}',
  '\u0301', '\u0301a', ' \u0301a', '\u0301A', '\u0301AB', 'A\u0301B', '\u0301\u0301', '!\u0301', '\u0301\n', 'x \u0301', '1\u0301', '\u0301 1', "\u0301's", 'AB\u0301CD', 'A\u0301\u0302bC', '\u20dd', 'ₐ', 'ʼn', 'ߴ',
  'https://example.org/a/b?c=d&e=f#g', 'user.name+tag@example.co.uk', 'C:\\Users\\x', '/usr/local/bin', 'a_b_c', 'snake_case_name', 'kebab-case-name', 'SCREAMING_SNAKE', '__init__', '$var', '@decorator', '#include <stdio.h>\n',
  '{"a": 1, "b": [true, false, null], "c": "d\\n"}', '{"role":"user","content":"Hi"}', '<div class="x">y</div>', '[link](url)', '**bold** _it_', '`code`', '```js\nlet x = 1;\n```', '| a | b |\n| --- | --- |\n', '- [ ] todo\n- [x] done',
  'SELECT * FROM t WHERE a = \'b\';', 'fn main() { println!("{}", x); }', 'for (int i = 0; i < n; i++) {\n\t\tsum += a[i];\n\t}\n', 'x = y if z else w  # comment', 'import { a } from "b";\n\nexport default a;\n', '() => {}', 'a->b', 'a::b', '&&', '||', '!=', '===', '<=>', '#{x}', '%d\n', '\\n', '"""doc"""',
  'The quick brown fox jumps over the lazy dog.', 'supercalifragilisticexpialidocious', 'antidisestablishmentarianism', 'Donaudampfschifffahrtsgesellschaftskapitän', 'pneumonoultramicroscopicsilicovolcanoconiosis',
  'x'.repeat(39), 'x'.repeat(40), 'x'.repeat(41), 'x'.repeat(300), 'ab'.repeat(50), 'abc'.repeat(40), '-'.repeat(100), '='.repeat(79) + '\n', ' '.repeat(81), '\n'.repeat(50), '0'.repeat(31), 'é'.repeat(60), '中'.repeat(50), '哈'.repeat(33) + 'x', 'ACGT'.repeat(30), '😀'.repeat(30),
];

// Lone surrogates are legal in JavaScript strings and become U+FFFD on the way to tiktoken.
const bytes = [
  [0xff], [0x80], [0xc3], [0xc3, 0x28], [0xe4, 0xbd], [0xe4, 0xbd, 0x41], [0xf0, 0x9f, 0x98], [0xf0, 0x9f, 0x98, 0x20], [0xed, 0xa0, 0x80], [0xc0, 0xaf],
  [0xf4, 0x90, 0x80, 0x80], [0xe0, 0x80, 0xaf], [0xf8, 0x88, 0x80, 0x80, 0x80], [0x61, 0xff, 0x62], [0x61, 0xff, 0xfe, 0x0a, 0x62], [0x20, 0xff, 0x20], [0xe4, 0xbd, 0xa0, 0xe5, 0xa5],
  [0xf0, 0x80, 0x80, 0x41], [0xf1, 0x80, 0xc2, 0x61], [0xe1, 0x80, 0xe2, 0xf0, 0x91, 0x92, 0xf1, 0xbf, 0x41], [0x00, 0xff, 0x00],
];

// Texts of random mixtures, so that classes meet in every order.
let state = 20240531;
const rnd = (n) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
const alphabets = [
  [' ', '  ', '\n', '\r\n', '\t', 'a', 'B', '1', '.', '\u00a0'],
  ["'", 's', 'S', 'T', 'll', 're', 'VE', 'd', 'M', ' ', 'a', '1', '\u017f', '!'],
  ['A', 'B', 'a', 'b', '\u0301', '日', 'ʰ', 'ǅ', ' ', '.', '1', '\n', '/', "'s"],
  ['the', 'The', ' of', ' and', ',', '.', '\n', '  ', ' 2024', '(', ')', '"', '—', ' I', "'m", ' e.g.'],
  ['中', '文', '。', 'の', 'カ', '한', '글', ' ', 'x', '7', '😀', '\u200d', '️', '!'],
  ['{', '}', '(', ')', ';', '=', '+', '  ', '\n', '\t', 'x', 'foo', 'Bar', '_', '"', '//', '0', '12345', '->'],
];
for (let i = 0; i < 90; i++) {
  const a = alphabets[i % alphabets.length];
  let s = '';
  for (let n = 3 + rnd(25); n > 0; n--) s += a[rnd(a.length)];
  texts.push(s);
}

const cases = texts.map((text) => ({ text }));
for (const b of bytes) cases.push({ base64: Buffer.from(b).toString('base64') });
for (const [text, times] of [['a', 100000], [' ', 100000], ['\n', 100000], ['-', 100000], ['0', 100000], ['é', 50000], ['中', 33333], ['😀', 25000], ['Aa', 50000], ['a ', 50000], [' \n', 50000], ["'s", 50000], ['A', 100000], ['\u0301', 50000], ['xyz!', 25000]])
  cases.push({ text, times });
for (const file of ['sample.md', 'sample-cjk.txt']) cases.push({ file });

const fnv = (ids) => {
  let h = 0x811c9dc5;
  for (const id of ids) for (let k = 0; k < 32; k += 8) h = Math.imul(h ^ ((id >>> k) & 255), 0x01000193) >>> 0;
  return h;
};
const lines = cases.map((c) => {
  let text = c.text;
  if (c.base64 !== undefined) text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(c.base64, 'base64'));
  if (c.times) text = text.repeat(c.times);
  if (c.file) text = read(c.file);
  const out = { ...c };
  for (const [name, e] of encodings) {
    const ids = Array.from(e.encode_ordinary(text));
    out[name] = c.times || c.file ? { n: ids.length, fnv: fnv(ids) } : ids;
  }
  return JSON.stringify(out);
});
console.log('[\n' + lines.join(',\n') + '\n]');
