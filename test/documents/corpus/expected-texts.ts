// Expected texts of the real documents: sentences and cells, extracted by other tools (python-docx, openpyxl,
// python-pptx, pdftotext) and by eye on the rendered page, in reading order.

/** Parts of the text of each document, in the order of the text. */
export const EXPECTED_TEXTS: Readonly<Record<string, readonly string[]>> = {
  // a strict Open XML document that contains only these two words
  "normal/docling__Strict.docx": ["Some text"],
  "normal/docling__equations.docx": [
    "- First item with inline equation: A=πr^2 is the area formula.",
    "- Second item with equations: E=mc^2 and F=ma are physics formulas.",
    "And that is an equation by itself. Cheers!",
    "Large operators and integrals are represented with n-ary objects in OMML XML:",
    "Operators used with limits:",
  ],
  "normal/docling__word_sample.docx": [
    "Figure 1: This is a cute duckling",
    "Hmm, what else…",
    "After we had a good day of swimming in the lake, it’s important to eat something nice\n\nI like to eat leaves",
    "Leaves | Food: Ash, Elm, Maple | Calories per portion: 50",
    "Grain | Food: Corn, Buckwheat, Barley | Calories per portion: 200",
    "And let’s add another list in the end:",
  ],
  // a document of one word with two footnotes
  "normal/mammoth.js__footnotes.docx": ["Ouch[1].[2]", "[note 1: A tachyon walks into a bar.]", "[note 2: Fin.]"],
  "normal/mammoth.js__tables.docx": ["Above", "Top left | Top right", "Bottom left | Bottom right", "Below"],
  "normal/mammoth.js__utf8-bom.docx": ["This XML has a byte order mark."],
  "normal/markitdown__test_with_comment.docx": [
    "Qingyun Wu , Gagan Bansal , Jieyu Zhang, Yiran Wu, Beibin Li, Erkang Zhu, Li Jiang",
    "# Introduction\n\nLarge language models (LLMs) are becoming a crucial building block in developing powerful agents",
    "how can we facilitate the development of LLM applications that could span a broad spectrum of domains",
    "13 | 14 | 49e168b7-d2ae-407f-a055-2167576f39a1 | 15 | 16 | 17",
    "[comment by Unknown Author: Yet another comment in the doc. 55yiyi-asd09]",
    "24 | 25 | 26 | 27 | 28 | 29",
  ],
  "normal/unstructured__eng_spa_mult.docx": [
    "They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
    '"Todos los seres humanos nacen libres e iguales',
    "dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
  ],
  // the only sentence of the document
  "normal/unstructured__fake.docx": ["Lorem ipsum dolor sit amet."],

  "normal/calamine__date.xlsx": ["## Sheet1", "2021-01-01 | 15\n2021-01-02 | 16\n255:10:10 | 17"],
  "normal/calamine__merge_cells.xlsx": ["Row Merge", "Not Merged", "Column Merge", "Chunk Merged"],
  "normal/docling__xlsx_03_chartsheet.xlsx": [
    "Year: 2020 | Freshwater Ducks: 135 | Saltwater Ducks: 95 | Ducks: 230",
    "Year: 2021 | Freshwater Ducks: 150 | Saltwater Ducks: 100 | Ducks: 250",
    "Year: 2023 | Freshwater Ducks: 160 | Saltwater Ducks: 120 | Ducks: 280",
  ],
  "normal/markitdown__test.xlsx": [
    "Alpha: 76 | Beta: 89 | Gamma: 33 | Delta: 42",
    "Alpha: 7 | Beta: 69 | Gamma: 10 | Delta: 17",
    "Alpha: 87 | Beta: 93 | Gamma: 95 | Delta: 80",
    "ColA: 5 | ColB: 6 | ColC: 7 | ColD: 8",
  ],
  "normal/unstructured__2023-half-year-analyses-by-segment.xlsx": [
    "Zone AOA | Sales (a): 9,060 | Underlying Trading operating profit (b): 2,068 | Trading operating profit: 1,985",
    "Zone LATAM | Sales (a): 6,082",
    "Nestlé Health Science | Sales (a): 3,318 | Underlying Trading operating profit (b): 432",
    "Unallocated items (e) | Sales (a): — | Underlying Trading operating profit (b): (1,164)",
    "Total | Sales (a): 46,293",
    "Zone NA | Sales (a): 12,138",
  ],
  "normal/unstructured__vodafone.xlsx": [
    "Topic: Group financial performance | Period: FY 22 | FY 23 | Page: 2",
    "Topic: Mobile ARPU | Period: Nine quarters to 30 June 2023 | Page: 13",
    "Topic: Guidance rates | Period: FY 23/24 | Page: 14",
  ],

  "normal/docling__powerpoint_sample.pptx": [
    "R2 | Class1 C: True | Class2 A: False",
    "R4 | Class1 C: False | Class2 B: False",
    "A rectangle shape with this text inside.\n\n[notes: Some notes on the second slide.]",
    "- I1\n- I2\n- I3\n- I4",
    "Some info:\n\n- Item A\n- Item B",
    "1. List1\n2. List2\n3. List3",
  ],
  "normal/poi__smartart-simple.pptx": [
    "- abc\n- def\n- ghi",
    "Image fill on shape",
    "Text box positioning relative to shape (when text is centered it’s not in the center of the circles)",
    "Shapes are styled with theme",
  ],
  // the document contains only two titles and empty placeholders
  "normal/unstructured__fake-power-point-many-pages.pptx": ["## Page 1", "## Page 2"],
  "normal/unstructured__science-exploration-1p.pptx": [
    "- Code 660: Astrophysics Science Division",
    "  - Code 605: Science Proposal Support Office",
    "- Code 700: Information Technology and Communication Directorate",
    "GSFC: Sciences and Exploration Directorate",
  ],

  "normal/docling__multi_page.pdf": [
    "In addition to general-purpose word processors, specialized tools have emerged to cater to specific industries and needs.",
    "- Academic and Technical Writing: Tools like LaTeX gained popularity among academics, scientists, and engineers.",
    "These programs automate the formatting of dialogue, scene descriptions, and other elements unique to screenwriting.",
    "What began as a tool to simply replace handwriting has transformed into a powerful ally for creativity, communication, and collaboration.",
  ],
  "normal/docling__redp5110_sampled.pdf": [
    "1.3.1 Existing row and column control … 4",
    "Without a security policy, there is no definition of what are acceptable practices for using, accessing, and storing information by who, what, when, where, and how.",
    "- The second fundamental in securing data assets is the use of resource security.",
    "CURRENT_USER | Corresponding value: The effective user of the thread including adopted authority. When no adopted authority is present, this has the same value as USER.",
    "- ALICE calls an SQL procedure that is named proc1, which is owned by user profile JOE and was created to adopt JOE's authority when it is called.",
  ],
  "normal/docling__right_to_left_01.pdf": [
    "تحسين الإنتاجية وحل المشكلات من خلال البرمجة بلغة R و Python",
    "يمتلك كل من R و Python ميزات فريدة تجعلها مثالية لتحليل البيانات، مما يسهل على المحللين والعلماء إجراء تحليلات معقدة بطريقة سريعة وفعالة.",
    "علاوة على ذلك، توفر كل من R و Python مكتبات وأدوات غنية تدعم مجموعة واسعة من التطبيقات",
    "يمكن للمستخدمين الاستفادة من هذه المكتبات لتطوير حلول مبتكرة للمشكلات المختلفة.",
    "يمكن استخدام مكتبة pandas في Python لإدارة البيانات بكفاءة",
  ],
  "normal/markitdown__REPAIR-2022-INV-001_multipage.pdf": [
    "Claim #: SF-1008",
    "Make: Jeep",
    "Paint Labor | 1.5 | 150 | 225",
    "Sales Tax | 10.20% | 278.46",
    "Parts Prices may vary due to models and vehicle maker price updates.",
    "Phone | (416) 555-1234 | Trim | Limited",
    "GRAND TOTAL: 211,522",
  ],
  "normal/markitdown__SPARSE-2024-INV-1234_borderless_table.pdf": [
    "Report Date: 2024-11-15\nPrepared By: Sarah Martinez",
    "Product Code: SKU-9201 | Expected: 780 | Actual: 778 | Status: OK",
    "Overall Accuracy: 97.2%",
    "Cross-location verification protocols should be reviewed to prevent future discrepancies.",
    "Product Code: SKU-6678 | Category: Software | Unit Cost: $200.00 | Total Value: $42,000.00 | Last Audit: 2024-10-25 | Notes: High Value",
  ],
  "normal/markitdown__test.pdf": [
    "Large language models (LLMs) are becoming a crucial building block in developing powerful agents that utilize LLMs for reasoning, tool usage, and adapting to new observations",
    "Third, LLMs have demonstrated ability to solve complex tasks when the tasks are broken into simpler subtasks.",
    "How can we leverage the above insights and support different applications with the common requirement of coordinating multiple agents",
  ],
  // the document contains only three words, three times
  "normal/pdf.js__ArabicCIDTrueType.pdf": ["انواع الخطوط العربية"],
  "normal/pdf.js__TAMReview.pdf": [
    "Mohammad Chuttur",
    "Thus, it is essential for anyone willing to study user acceptance of technology to have an understanding of the Technology Acceptance Model.",
    "Current observations indicate that although TAM is a highly cited model, researchers share mixed opinions regarding its theoretical assumptions, and practical effectiveness.",
    "It is concluded that research in TAM lacks sufficient rigor and relevance that would make it a well established theory for the IS community.",
  ],
  "normal/pdf.js__basicapi.pdf": [
    "# Table Of Content\n\nChapter 1 … 2\nParagraph 1.1 … 3",
    "# Chapter 1",
    "# Paragraph 1.1",
  ],
  // the document contains only five letters, in a font that the file does not embed
  "normal/pdf.js__noembed-sjis.pdf": ["あいうえお"],
  "normal/pdf.js__tracemonkey.pdf": [
    "The loop on lines 4-5 becomes hot on its second iteration, so TraceMonkey enters recording mode on line 4.",
    "In this case, execution returns to the loop header on line 4.",
    "The result is a native code fragment that can be entered if the interpreter PC and the types of values match those observed when trace recording was started.",
    "This executes the loop on line 4 to completion and then returns to the recorder.",
  ],
  "normal/pypdf__crazyones.pdf": [
    "October 14, 1998",
    "You can quote them, disagree with them, glorify or vilify them.",
    "Or gaze at a red planet and see a laboratory on wheels?",
    "While some see them as the crazy ones, we see genius.",
  ],
  "normal/unstructured__korean-text-with-tables.pdf": [
    "적립한도 없이 할인점·주유·온라인쇼핑몰 1.5% 빅포인트 적립",
    "할인점: 이마트, 이마트 트레이더스, 롯데마트, 홈플러스",
    "매월 1일부터 말일까지 이용한 일시불 및 할부 이용금액",
    "제과점: 파리바게뜨, 뚜레쥬르",
    "- 빅포인트의 유효기간은 5년으로, 유효기간 만료 시 월 단위로 자동 소멸",
  ],
  "normal/unstructured__layout-parser-paper-with-table.pdf": [
    "Dataset: Newspaper [17] | ",
    " | Notes: Layouts of scanned US newspapers from the 20th century",
    "For “base model” and “large model”, we refer to using the ResNet 50 or ResNet 101 backbones [13], respectively.",
    "It is formulated as an object detection problem and state-of-the-art models like Faster R-CNN [28] and Mask R-CNN [12] are used.",
    "2 image = cv2 . imread",
    "As document structures and layouts vary greatly in different domains, it is important to select models trained on a dataset similar to the test samples.",
  ],
  "normal/unstructured__multi-column.pdf": [
    "Inner product search has been widely used and studied, as well as its connection to cosine similarity and L2 distance",
    "FAISS is an extremely efficient, open-source library for similarity search and clustering of dense vectors",
    "The use of dense vector representations for retrieval has a long history since Latent Semantic Analysis",
    "The dense representation alone, however, is typically inferior to the sparse one.",
  ],
  "normal/unstructured__reliance.pdf": [
    "# We Care\n",
    "Big achievements follow if you dream big. Reliance is a proof of the power of dreams.",
    "Shri Dhirubhai H. Ambani\n\nFounder Chairman",
    "2,32,822\n\nNew jobs created",
    "In preparing the Report, GRI Standards, National Voluntary Guidelines (NVGs), United Nations Sustainable Development Goals (UN SDGs) and 13 other frameworks were referenced.",
  ],
};
